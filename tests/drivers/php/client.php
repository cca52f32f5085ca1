<?php
/** PHP's pgsql functions: queries with and without parameters, prepared and asynchronous statements, COPY, cancel, errors with their fields, types by OID. */
require getenv('LIB') . '/facts.php';

const FIELDS = [PGSQL_DIAG_SEVERITY => 'severity', PGSQL_DIAG_SQLSTATE => 'state', PGSQL_DIAG_MESSAGE_PRIMARY => 'message', PGSQL_DIAG_MESSAGE_DETAIL => 'detail',
    PGSQL_DIAG_MESSAGE_HINT => 'hint', PGSQL_DIAG_STATEMENT_POSITION => 'position', PGSQL_DIAG_CONTEXT => 'context', PGSQL_DIAG_SCHEMA_NAME => 'schema',
    PGSQL_DIAG_TABLE_NAME => 'table', PGSQL_DIAG_COLUMN_NAME => 'column', PGSQL_DIAG_CONSTRAINT_NAME => 'constraint'];

/** What a result holds, or its error's fields. */
function outcome($result)
{
    if ($result === false)
        return 'no result';
    $status = pg_result_status($result);
    if ($status === PGSQL_FATAL_ERROR) {
        $all = [];
        foreach (FIELDS as $field => $name)
            if (($v = pg_result_error_field($result, $field)) !== null && $v !== false)
                $all[] = "$name=$v";
        return implode(' ', $all);
    }
    $columns = [];
    for ($i = 0; $i < pg_num_fields($result); $i++)
        $columns[] = pg_field_name($result, $i) . ' ' . pg_field_type_oid($result, $i) . ' ' . pg_field_size($result, $i);
    return [$columns, pg_fetch_all($result, PGSQL_NUM), pg_affected_rows($result), pg_result_status($result, PGSQL_STATUS_STRING)];
}

/** By the asynchronous calls: the synchronous ones keep no result of a failed statement. */
function run(string $sql, ?array $values = null)
{
    global $db;
    if ($values === null)
        pg_send_query($db, $sql);
    else
        pg_send_query_params($db, $sql, $values);
    $all = [];
    while ($result = pg_get_result($db))
        $all[] = outcome($result);
    return count($all) === 1 ? $all[0] : $all;
}

function tell(string $sql, ?array $values = null): void
{
    fact($sql . ($values === null ? '' : ' ' . shown($values)), run($sql, $values));
}

function refused(string $more): string
{
    set_error_handler(function ($number, $text) use (&$said) { $said = $text; return true; });
    $c = pg_connect($more, PGSQL_CONNECT_FORCE_NEW);
    restore_error_handler();
    return $c ? 'connected' : trim(substr($said, strrpos($said, 'failed: ') + 8));
}

section('connect');
$db = pg_connect('');
foreach (['server_version', 'server_encoding', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle', 'standard_conforming_strings', 'is_superuser'] as $name)
    fact($name, pg_parameter_status($db, $name));
fact('version', pg_version($db)['server']);
fact('status', [pg_connection_status($db), pg_transaction_status($db), pg_ping($db), pg_client_encoding($db), pg_dbname($db)]);
fact('wrong password', refused("password=wrong"));
fact('no such role', refused("user=nobody-there"));
fact('no such database', refused("dbname=no-such-database"));
fact('a setting', refused("options='-c statement_timeout=77'"));
fact('a wrong setting', refused("options='-c statement_timeout=abc'"));

section('types');
foreach (values() as [$type, $text])
    tell("SELECT \$1::$type AS v", [$text]);

section('types, stored');
run('CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, v varchar(10), d date, ti time, '
    . 'ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb)');
$insert = 'INSERT INTO stored VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)';
tell($insert . ' RETURNING id, n', [1, 't', -3, '1099511627776', 1.5, 0.1, '12.345', 'ä€', 'v', '2024-02-29', '12:00', '2024-01-02 03:04:05.000006', '2024-01-02 03:04:05+02', '1 day 2 sec',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', pg_escape_bytea($db, "\0\1\xff\\'"), '{"a": 1}', '{"b": [2]}']);
tell($insert, array_merge([2], array_fill(0, 17, null)));
tell('SELECT * FROM stored ORDER BY id');
fact('bytea', bin2hex(pg_unescape_bytea(pg_fetch_result(pg_query($db, 'SELECT by FROM stored WHERE id = 1'), 0, 0))));
tell("SELECT '" . pg_escape_string($db, "a'b\\c") . "', " . pg_escape_literal($db, "a'b\\c") . ' AS ' . pg_escape_identifier($db, 'a"b'));

section('prepared statements');
foreach (['one' => 'SELECT $1::integer + 1 AS v', 'two' => 'SELECT id FROM stored WHERE n > $1 AND d = $2', 'one again' => 'SELECT $1 || $2', 'wrong' => 'SELECT nothing', 'limit' => 'SELECT id FROM stored ORDER BY id LIMIT $1'] as $name => $sql) {
    pg_send_prepare($db, $name, $sql);
    fact("prepare $name", outcome(pg_get_result($db)));
    pg_get_result($db);
}
foreach ([['one', [41]], ['one', ['x']], ['one', []], ['two', ['1.5', '2024-02-29']], ['one again', ['a', 'b']], ['none', []], ['limit', [1]], ['limit', [-1]]] as [$name, $values]) {
    pg_send_execute($db, $name, $values);
    fact("execute $name " . shown($values), outcome(pg_get_result($db)));
    pg_get_result($db);
}
pg_send_prepare($db, 'one', 'SELECT 1');
fact('prepare one twice', outcome(pg_get_result($db)));
pg_get_result($db);
run('CREATE TABLE changing (a integer)');
pg_query($db, 'INSERT INTO changing VALUES (1)');
pg_prepare($db, 'star', 'SELECT * FROM changing');
fact('before', pg_fetch_all(pg_execute($db, 'star', [])));
run('DROP TABLE changing');
run('CREATE TABLE changing (a integer, b text)');
pg_send_execute($db, 'star', []);
fact('after', outcome(pg_get_result($db)));
pg_get_result($db);
tell('DEALLOCATE one');
tell('DEALLOCATE one');

section('transactions');
foreach (['BEGIN', 'INSERT INTO stored (id) VALUES (10)', 'SAVEPOINT a', 'INSERT INTO stored (id) VALUES (10)', 'SELECT 1', 'ROLLBACK TO a', 'SELECT count(*) FROM stored', 'COMMIT', 'SELECT count(*) FROM stored',
          'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY', 'DELETE FROM stored', 'ROLLBACK'] as $sql) {
    tell($sql);
    fact('status', pg_transaction_status($db));
}

section('errors');
run('CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n))');
run("INSERT INTO ref VALUES (1, 1, 1, 1, 'a')");
foreach (['INSERT INTO ref VALUES (1, 2, 3, 4)', 'INSERT INTO ref VALUES (2, 1, 3, 4)', 'INSERT INTO ref VALUES (2, 2, NULL)', "INSERT INTO ref VALUES (2, 2, 2, 2, 'abcd')", 'SELECT * FROM nowhere',
          'SELECT nothing FROM ref', 'SELEC 1', 'SELECT 1/0', "SELECT 'x'::integer", 'SELECT nosuch(1)', 'SELECT 1; SELECT 1/0; SELECT 2', '', 'SELECT 1; SELECT 2'] as $sql)
    tell($sql);
fact('pg_query says', (function () use ($db) {
    set_error_handler(function ($number, $text) use (&$said) { $said = $text; return true; });
    pg_query($db, "SELECT ä FROM ref");
    restore_error_handler();
    return $said;
})());

section('notices');
pg_last_notice($db, PGSQL_NOTICE_CLEAR);
foreach (['DROP TABLE IF EXISTS nowhere', 'CREATE TABLE IF NOT EXISTS ref (a integer)', 'COMMIT'] as $sql) {
    tell($sql);
    fact('notices', pg_last_notice($db, PGSQL_NOTICE_ALL));
    pg_last_notice($db, PGSQL_NOTICE_CLEAR);
}

section('COPY');
run('CREATE TABLE copied (a integer, b text)');
pg_query($db, 'COPY copied FROM STDIN');
pg_put_line($db, "1\tä\n");
pg_put_line($db, "2\t\\N\n");
pg_put_line($db, "\\.\n");
fact('end', pg_end_copy($db));
tell('SELECT * FROM copied ORDER BY a');
fact('pg_copy_from', pg_copy_from($db, 'copied', ["3\tx\n", "4\t\\N\n"]));
fact('pg_copy_to', pg_copy_to($db, 'copied'));
fact('pg_copy_to, its own signs', pg_copy_to($db, 'copied', ';', '-'));
fact('pg_copy_from a wrong row', @pg_copy_from($db, 'copied', ["5\tx\n", "six\ty\n"]));
fact('the error', pg_last_error($db));
tell('SELECT count(*) FROM copied');

section('a query that runs');
pg_send_query($db, 'SELECT pg_sleep(100)');
fact('busy', pg_connection_busy($db));
usleep(200000);
fact('cancel', pg_cancel_query($db));
tell("SELECT 'still here'");
run('SET statement_timeout = 100');
tell('SELECT pg_sleep(100)');
run('RESET statement_timeout');

section('large values');
$text = str_repeat('äx€z', 1000000);
$raw = str_repeat("\0\xff\\'\x80", 2000000);
$result = pg_query_params($db, 'SELECT $1::text, length($1), length($2::bytea), $2::bytea', [$text, pg_escape_bytea($db, $raw)]);
[$t, $n, $m, $b] = pg_fetch_row($result);
fact('text', digest($t));
fact('lengths', [$n, $m]);
fact('the same', [$t === $text, pg_unescape_bytea($b) === $raw]);
fact('20,000 parameters', run('SELECT count(*) FROM ref WHERE id IN (' . implode(', ', array_map(fn ($i) => "\$$i", range(1, 20000))) . ')', range(1, 20000)));

section('results one row at a time');
run('CREATE TABLE numbers (i integer PRIMARY KEY)');
pg_query($db, 'INSERT INTO numbers WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 9999) SELECT i FROM g');
pg_send_query($db, 'SELECT i FROM numbers ORDER BY i');
$result = pg_get_result($db);
fact('rows', [pg_num_rows($result), pg_fetch_result($result, 9999, 'i'), pg_field_num($result, 'i'), pg_field_is_null($result, 0, 0)]);
pg_get_result($db);

section('what the functions look up');
tell("SELECT relname FROM pg_class WHERE relname = 'ref'");
fact('the type of a column', (function () use ($db) {
    set_error_handler(function ($number, $text) use (&$said) { $said = str_contains($text, 'not supported') ? '0A000' : $text; return true; });
    $type = pg_field_type(pg_query($db, 'SELECT 1::bigint AS v'), 0);
    restore_error_handler();
    return $said ?? $type;
})());
