#!/usr/bin/perl
# DBD::Pg: server-side prepared statements, placeholders of every kind, COPY, savepoints, asynchronous queries, errors by state, types both ways.
use strict;
use warnings;
use utf8;
use DBI;
use DBD::Pg qw(:pg_types :async);
use Digest::MD5 qw(md5_hex);
binmode STDOUT, ':utf8';
$| = 1;

sub section { print "== @_\n" }

sub shown {
    my $v = shift;
    return 'NULL' unless defined $v;
    return '[' . join(', ', map { shown($_) } @$v) . ']' if ref $v eq 'ARRAY';
    return "$v";
}

sub fact {
    my ($name, $v) = @_;
    my $line = "$name: " . shown($v);
    $line =~ s/\n/\\n/g;
    print "$line\n";
}

# What the work yields, or state and text of its error.
sub ask {
    my ($name, $work) = @_;
    my $v = eval { $work->() };
    if ($@) {
        die $@ unless $@ =~ /^(DB[DI]\b|ERROR: )/;
        my ($h) = ($@ =~ /^(DBD::Pg::\w+ \w+ failed)/);
        my $text = $DBI::errstr // $@;
        $text =~ s/^connection to .* failed: //; # its address
        $v = ($h // 'error') . " " . ($DBI::state // '?') . " $text";
    }
    fact($name, $v);
}

sub connection {
    my ($more, $user, $password) = @_;
    return DBI->connect("dbi:Pg:$more", $user // $ENV{PGUSER}, $password,
        {RaiseError => 1, PrintError => 0, AutoCommit => 1, PrintWarn => 0});
}

sub rows {
    my $s = shift;
    return [[map { $s->{NAME}[$_] . ' ' . $s->{pg_type}[$_] . ' ' . $s->{TYPE}[$_] . ' ' . shown($s->{PRECISION}[$_]) } 0 .. $s->{NUM_OF_FIELDS} - 1], @{$s->fetchall_arrayref}];
}

my $db;

sub run {
    my ($sql, @values) = @_;
    my $s = $db->prepare($sql);
    my $n = $s->execute(@values);
    return $s->{NUM_OF_FIELDS} ? [$n, rows($s)] : $n;
}

sub tell_ { my ($sql, @values) = @_; ask("$sql" . (@values ? ' ' . shown(\@values) : ''), sub { run($sql, @values) }) }

section 'connect';
$db = connection('');
fact('versions', [$db->{pg_server_version}, $db->{pg_user}, $db->{pg_db}, $db->{pg_protocol}, $db->{pg_standard_conforming_strings}]);
fact('ping', [$db->ping, $db->pg_ping]);
for ('password', 'user', 'dbname') {
    my $what = $_;
    ask("wrong $what", sub { connection($what eq 'dbname' ? 'dbname=no-such-database' : '', $what eq 'user' ? 'nobody-there' : undef, $what eq 'password' ? 'wrong' : undef); 'connected' });
}

section 'types';
open my $file, '<:utf8', "$ENV{LIB}/values" or die;
my @values = map { chomp; [split /\t/, $_, 3] } grep { !/^#/ } <$file>;
for (@values) {
    my ($type, undef, $text) = @$_;
    tell_("SELECT ?::$type AS v", $text eq '\\N' ? undef : $text);
}

section 'types, bound';
for ([PG_BOOL, 1], [PG_BOOL, 'f'], [PG_INT2, -3], [PG_INT4, 2147483647], [PG_INT8, '9223372036854775807'], [PG_FLOAT8, '0.1'], [PG_NUMERIC, '1.50'], [PG_TEXT, "ä'\\"], [PG_VARCHAR, ''],
     [PG_DATE, '2024-02-29'], [PG_TIMESTAMP, '2024-02-29 01:02:03'], [PG_BYTEA, "\0\x01'\\x"], [PG_UUID, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], [PG_JSONB, '{"a": [1]}'], [PG_INT4, undef]) {
    my ($type, $v) = @$_;
    ask("$type " . ($type == PG_BYTEA ? unpack('H*', $v) : shown($v)), sub {
        my $s = $db->prepare('SELECT ? AS v');
        $s->bind_param(1, $v, {pg_type => $type});
        $s->execute;
        my $back = rows($s);
        $back->[1][0] = unpack('H*', $back->[1][0]) if $type == PG_BYTEA;
        return $back;
    });
}

section 'placeholders';
run('CREATE TABLE numbers (i integer PRIMARY KEY, t text)');
ask('execute_array', sub { my $s = $db->prepare('INSERT INTO numbers VALUES (?, ?)'); my $n = $s->execute_array({}, [1 .. 300], [map { "t$_" } 1 .. 300]); $n });
tell_('SELECT t FROM numbers WHERE i = $1 OR i = $2 ORDER BY i', 5, 7);
ask('named', sub { my $s = $db->prepare('SELECT t FROM numbers WHERE i > :low AND i < :high ORDER BY i'); $s->bind_param(':low', 10); $s->bind_param(':high', 13); $s->execute; rows($s) });
tell_('SELECT i FROM numbers ORDER BY i LIMIT ? OFFSET ?', 2, 5);
tell_('SELECT ? || ?', 'a', 'b');
tell_('SELECT ?', 'x');
tell_('SELECT count(*) FROM numbers WHERE i = ?', 'x');
tell_('SELECT 1 WHERE 1 = ?');
for my $server (0, 1) {
    local $db->{pg_server_prepare} = $server;
    tell_('SELECT t FROM numbers WHERE i = ?', 9);
    ask('again and again', sub { my $s = $db->prepare('SELECT i * ?::bigint FROM numbers WHERE i = ?'); [map { $s->execute(2, $_); $s->fetchrow_array } 1 .. 5] });
}
ask('prepared now', sub { my $s = $db->prepare('SELECT i FROM numbers WHERE i = ?', {pg_prepare_now => 1}); [$s->{NUM_OF_FIELDS}, $s->execute(3), $s->fetchrow_array] });
ask('prepared now, wrong', sub { $db->prepare('SELECT nothing FROM numbers WHERE i = ?', {pg_prepare_now => 1}) });
run('CREATE TABLE changing (a integer)');
run('INSERT INTO changing VALUES (1)');
my $star = $db->prepare('SELECT * FROM changing WHERE a > ?');
ask('before', sub { $star->execute(0); $star->fetchall_arrayref });
run('DROP TABLE changing');
run('CREATE TABLE changing (a integer, b text)');
ask('after', sub { $star->execute(0); $star->fetchall_arrayref });

section 'transactions';
$db->{AutoCommit} = 0;
tell_('INSERT INTO numbers VALUES (1000, ?)', 'x');
ask('savepoint', sub { $db->pg_savepoint('a') });
tell_('INSERT INTO numbers VALUES (1000, ?)', 'y');
tell_('SELECT 1');
fact('ping', $db->ping);
ask('rollback to', sub { $db->pg_rollback_to('a') });
ask('release', sub { $db->pg_release('a') });
tell_('SELECT t FROM numbers WHERE i = 1000');
ask('commit', sub { $db->commit });
tell_('DELETE FROM numbers');
ask('rollback', sub { $db->rollback });
tell_('SELECT count(*) FROM numbers');
$db->rollback;
$db->{AutoCommit} = 1;
ask('begin_work', sub { $db->begin_work; run('UPDATE numbers SET t = ? WHERE i < ?', 'u', 4); $db->commit });
tell_('UPDATE numbers SET t = ? WHERE i < ? RETURNING i, t', 'v', 3);

section 'errors';
run('CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, v varchar(3))');
run("INSERT INTO ref VALUES (1, 1, 1, 'a')");
for my $sql ('INSERT INTO ref VALUES (1, 2, 3)', 'INSERT INTO ref VALUES (2, 1, 3)', 'INSERT INTO ref VALUES (2, 2, NULL)', "INSERT INTO ref VALUES (2, 2, 2, 'abcd')", 'SELECT * FROM nowhere', 'SELECT nothing FROM ref',
             'SELEC 1', 'SELECT 1/0', "SELECT 'x'::integer", 'SELECT ä FROM ref') {
    tell_($sql);
    eval { $db->do($sql) };
    fact('fields', [map { $db->pg_error_field($_) } qw(severity state message_primary message_detail message_hint statement_position schema_name table_name column_name constraint_name)]);
}
ask('do of several', sub { $db->do('CREATE TABLE several (a integer); INSERT INTO several VALUES (1), (2); DELETE FROM several') });
ask('do of several with an error', sub { $db->do('INSERT INTO several VALUES (3); SELECT 1/0') });
tell_('SELECT count(*) FROM several');

section 'COPY';
run('CREATE TABLE copied (a integer, b text)');
ask('in', sub { $db->do('COPY copied FROM STDIN'); $db->pg_putcopydata("$_\tä$_\n") for 1 .. 1000; $db->pg_putcopyend });
ask('in, a wrong row', sub { $db->do('COPY copied FROM STDIN'); $db->pg_putcopydata("x\ty\n"); $db->pg_putcopyend });
ask('out', sub { $db->do('COPY (SELECT * FROM copied WHERE a < 4 ORDER BY a) TO STDOUT CSV HEADER'); my ($line, @all); push @all, $line while $db->pg_getcopydata($line) >= 0; \@all });
tell_('SELECT count(*), sum(a) FROM copied');

section 'asynchronous';
ask('ready', sub { my $s = $db->prepare('SELECT count(*) FROM copied WHERE a > ?', {pg_async => PG_ASYNC}); $s->execute(10); select(undef, undef, undef, 0.01) until $db->pg_ready; [$db->pg_result, $s->fetchrow_array] });
ask('cancelled', sub { my $s = $db->prepare('SELECT pg_sleep(100)', {pg_async => PG_ASYNC}); $s->execute; select(undef, undef, undef, 0.2); $db->pg_cancel });
tell_("SELECT 'still here'");
$db->do('SET statement_timeout = 100');
tell_('SELECT pg_sleep(100)');
$db->do('RESET statement_timeout');

section 'notices';
{
    my @said;
    local $SIG{__WARN__} = sub { push @said, @_ };
    local $db->{PrintWarn} = 1;
    $db->do('DROP TABLE IF EXISTS nowhere');
    $db->do('CREATE TABLE IF NOT EXISTS ref (a integer)');
    fact('notices', \@said);
}

section 'large values';
my ($text, $raw) = ('äx€z' x 1000000, "\0\xff\\'\x80" x 2000000);
ask('there and back', sub {
    my $s = $db->prepare('SELECT ?::text, ?::bytea, length(?::text)');
    $s->bind_param(1, $text);
    $s->bind_param(2, $raw, {pg_type => PG_BYTEA});
    $s->bind_param(3, $text);
    $s->execute;
    my ($t, $b, $n) = $s->fetchrow_array;
    [$t eq $text ? 1 : 0, $b eq $raw ? 1 : 0, $n, md5_hex($b)];
});
ask('20,000 parameters', sub { my $s = $db->prepare('SELECT count(*) FROM numbers WHERE i IN (' . join(', ', ('?') x 20000) . ')'); $s->execute(1 .. 20000); $s->fetchrow_array });

section 'server cursors';
$db->begin_work;
ask('declare and fetch', sub { $db->do('DECLARE walk CURSOR FOR SELECT i FROM numbers ORDER BY i'); [map { $_->[0] } @{$db->selectall_arrayref('FETCH 5 FROM walk')}] });
$db->rollback;

section 'what the driver looks up';
ask('tables', sub { [map { $_->[2] } @{$db->table_info(undef, 'public', 'r%', 'TABLE')->fetchall_arrayref}] });
