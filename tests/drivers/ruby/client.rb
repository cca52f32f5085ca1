# Ruby's pg: exec, exec_params, prepared statements, binary parameters and results, type maps, COPY, cancel, single rows, notices, pipelines.
require 'pg'
require 'digest'
require 'json'
$stdout.sync = true

def section(name) = puts("== #{name}")

def fact(name, v)
  puts "#{name}: #{v.is_a?(String) ? v : v.inspect}".gsub("\n", '\n')
end

FIELDS = %i[SEVERITY SQLSTATE MESSAGE_PRIMARY MESSAGE_DETAIL MESSAGE_HINT STATEMENT_POSITION CONTEXT SCHEMA_NAME TABLE_NAME COLUMN_NAME CONSTRAINT_NAME].freeze

def ask(name)
  fact(name, yield)
rescue PG::Error => e
  r = e.respond_to?(:result) && e.result
  fact(name, r ? "#{e.class} " + FIELDS.map { |f| [f.downcase, r.error_field(PG.const_get("PG_DIAG_#{f}"))] }.select(&:last).map { |k, v| "#{k}=#{v}" }.join(' ')
               : "#{e.class} #{e.message.strip.sub(/\Aconnection to .*failed: /, '')}")
end

def outcome(r)
  columns = (0...r.nfields).map { |i| "#{r.fname(i)} #{r.ftype(i)} #{r.fmod(i)} #{r.fsize(i)} #{r.fformat(i)}" }
  "#{columns} #{r.values} #{r.cmd_status}"
end

def run(sql, values = nil, format = 0)
  outcome(values ? $db.exec_params(sql, values, format) : $db.exec(sql))
end

def tell(sql, values = nil, format = 0)
  ask(values ? "#{sql} #{values}" : sql) { run(sql, values, format) }
end

section 'connect'
$db = PG.connect
%w[server_version server_encoding client_encoding DateStyle TimeZone IntervalStyle standard_conforming_strings is_superuser in_hot_standby].each { |n| fact n, $db.parameter_status(n) }
fact 'status', [$db.status, $db.transaction_status, $db.protocol_version, $db.server_version, $db.internal_encoding.to_s]
ask('wrong password') { PG.connect(password: 'wrong') }
ask('no such role') { PG.connect(user: 'nobody-there') }
ask('no such database') { PG.connect(dbname: 'no-such-database') }
ask('a setting') { PG.connect(options: '-c statement_timeout=77').exec('SHOW statement_timeout').values }
ask('only a primary') { PG.connect(target_session_attrs: 'read-write').exec('SELECT 1').values }
ask('only a standby') { PG.connect(target_session_attrs: 'standby') }
ask('ping') { PG::Connection.ping }

values = File.readlines("#{ENV['LIB']}/values", chomp: true, encoding: 'UTF-8').reject { |l| l.start_with?('#') }.map { |l| l.split("\t", 3) }
section 'types, text'
values.each { |type, _, text| tell("SELECT $1::#{type} AS v", [text == '\N' ? nil : text]) }
section 'types, binary results'
values.each do |type, _, text|
  ask("#{type} #{text}") do
    r = $db.exec_params("SELECT $1::#{type} AS v", [text == '\N' ? nil : text], 1)
    [r.ftype(0), r.fformat(0), r.values[0][0]&.unpack1('H*')]
  end
end
section 'types, binary parameters'
values.each do |type, _, text|
  next if text == '\N'
  ask("#{type} #{text}") do
    r = $db.exec_params("SELECT $1::#{type} AS v", [text], 1)
    b = r.values[0][0]
    $db.exec_params("SELECT $1::#{type} AS v, $1::#{type}::text", [{ value: b, format: 1, type: r.ftype(0) }]).values
  end
end
section 'types, coded by the library'
map = PG::TypeMapByClass.new
map[Integer] = PG::BinaryEncoder::Int8.new(oid: 20)
map[TrueClass] = map[FalseClass] = PG::BinaryEncoder::Boolean.new(oid: 16)
map[Float] = PG::TextEncoder::Float.new(oid: 701)
map[Time] = PG::TextEncoder::TimestampWithTimeZone.new(oid: 1184)
map[Hash] = PG::TextEncoder::JSON.new(oid: 114)
decoders = PG::TypeMapByOid.new
[[PG::BinaryDecoder::Boolean, 16], [PG::BinaryDecoder::Integer, 20], [PG::BinaryDecoder::Integer, 21], [PG::BinaryDecoder::Integer, 23], [PG::BinaryDecoder::Float, 700], [PG::BinaryDecoder::Float, 701],
 [PG::BinaryDecoder::Bytea, 17], [PG::BinaryDecoder::String, 25], [PG::BinaryDecoder::TimestampUtc, 1114], [PG::BinaryDecoder::TimestampUtc, 1184]].each { |d, oid| decoders.add_coder(d.new(oid: oid, format: 1)) }
[true, 2**62, -1, 0.1, Float::INFINITY, Time.at(1_700_000_000, 123_456, in: '+00:00'), { 'a' => [1, nil] }].each do |v|
  ask(v.inspect) do
    r = $db.exec_params('SELECT $1 AS v', [v], 1, map)
    r.type_map = decoders
    r.getvalue(0, 0).is_a?(Time) ? r.getvalue(0, 0).utc.strftime('%F %T.%6N') : r.getvalue(0, 0)
  end
end

section 'prepared statements'
$db.exec('CREATE TABLE things (id integer PRIMARY KEY, n numeric(8,2), d date, t text)')
ask('prepare') { $db.prepare('put', 'INSERT INTO things VALUES ($1, $2, $3, $4) RETURNING id').cmd_status }
ask('describe') { r = $db.describe_prepared('put'); [(0...r.nparams).map { |i| r.paramtype(i) }, r.fname(0), r.ftype(0), r.ftable(0) > 0, r.ftablecol(0)] }
3.times { |i| ask("put #{i}") { $db.exec_prepared('put', [i, "#{i}.5", '2024-02-29', i == 1 ? nil : "t#{i}"]).values } }
ask('put again') { $db.exec_prepared('put', [1, 1, nil, nil]) }
ask('prepare twice') { $db.prepare('put', 'SELECT 1') }
ask('not there') { $db.exec_prepared('nothing', []) }
ask('too few') { $db.exec_prepared('put', [1]) }
ask('describe what is not there') { $db.describe_prepared('nothing') }
['SELECT $1', 'SELECT $1 + 1', 'SELECT t FROM things WHERE n > $1 AND d < $2 LIMIT $3', 'SELECT coalesce($1, d) FROM things', 'SELECT $1::text || $2', 'SELECT CASE WHEN $1 THEN 1 ELSE $2 END', 'UPDATE things SET n = $2 WHERE id = $1',
 'SELECT $2::integer', 'SELECT $1 = $2', 'SELECT nothing'].each_with_index do |sql, i|
  ask(sql) do
    $db.prepare("p#{i}", sql)
    r = $db.describe_prepared("p#{i}")
    [(0...r.nparams).map { |k| r.paramtype(k) }, (0...r.nfields).map { |k| [r.fname(k), r.ftype(k), r.fmod(k)] }]
  end
end
ask('star') { $db.prepare('star', 'SELECT * FROM things'); $db.exec_prepared('star').values }
$db.exec('CREATE TABLE others (a integer)')
$db.prepare('star of others', 'SELECT * FROM others')
$db.exec('DROP TABLE others')
ask('without its table') { $db.exec_prepared('star of others') }
$db.exec('CREATE TABLE others (a integer, b text)')
ask('with another table') { $db.exec_prepared('star of others') }
$db.exec('DROP TABLE others')
$db.exec('CREATE TABLE others (a integer)')
ask('as before') { $db.exec_prepared('star of others').values }

section 'transactions'
ask('transaction') { $db.transaction { |c| c.exec("INSERT INTO things (id) VALUES (50)"); c.transaction_status } }
ask('transaction that fails') { $db.transaction { |c| c.exec("INSERT INTO things (id) VALUES (51)"); c.exec("INSERT INTO things (id) VALUES (50)") } }
['SELECT count(*) FROM things', 'BEGIN', 'SAVEPOINT "a b"', 'SELECT 1/0', 'SELECT 1', 'ROLLBACK TO SAVEPOINT "a b"', 'RELEASE "a b"', 'COMMIT', 'COMMIT'].each { |sql| tell sql; fact 'status', $db.transaction_status }

section 'errors'
['INSERT INTO things VALUES (1)', "INSERT INTO things VALUES (NULL)", 'SELECT * FROM nowhere', 'SELEC', "SELECT 'x'::date", "INSERT INTO things VALUES (100, 12345678)", 'SELECT 1; SELECT 1/0', '', 'SELECT ä', 'CREATE TABLE things (a integer)'].each { |sql| tell sql }
tell('SELECT $1::integer', ['x'])
ask('a wrong binary parameter') { $db.exec_params('SELECT $1::integer', [{ value: 'abc', format: 1 }]) }
ask('text that is no UTF-8') { $db.exec_params('SELECT $1::text', ["\xff".b]) }

section 'notices'
said = []
$db.set_notice_receiver { |r| said << [r.error_field(PG::PG_DIAG_SEVERITY), r.error_field(PG::PG_DIAG_SQLSTATE), r.error_message.strip] }
['DROP TABLE IF EXISTS nowhere', 'CREATE TABLE IF NOT EXISTS things (a integer)', 'BEGIN; BEGIN; COMMIT'].each { |sql| tell sql; fact 'notices', said.slice!(0..) }

section 'COPY'
$db.exec('CREATE TABLE copied (a integer, b text, c numeric)')
ask('in') { $db.copy_data('COPY copied FROM STDIN CSV') { 5000.times { |i| $db.put_copy_data("#{i},\"ä #{i}\",#{i}.25\n") } }.cmd_status }
ask('in, encoded') { $db.copy_data('COPY copied FROM STDIN', PG::TextEncoder::CopyRow.new) { $db.put_copy_data([7000, nil, "1.5"]); $db.put_copy_data([7001, "tab\tend\\", nil]) }.cmd_status }
ask('in, binary') { $db.copy_data('COPY copied (a, b) FROM STDIN (FORMAT binary)', PG::BinaryEncoder::CopyRow.new) { $db.put_copy_data([[8000].pack('N'), 'binary']) }.cmd_status } if defined?(PG::BinaryEncoder::CopyRow)
ask('in, a wrong row') { $db.copy_data('COPY copied FROM STDIN CSV') { $db.put_copy_data("x,y,z\n") } }
ask('in, given up') { $db.copy_data('COPY copied FROM STDIN CSV') { $db.put_copy_data("9000,y,1\n"); raise PG::Error, 'given up' } }
ask('out') { all = []; $db.copy_data('COPY (SELECT * FROM copied WHERE a IN (1, 7000, 7001) ORDER BY a) TO STDOUT', PG::TextDecoder::CopyRow.new) { while (row = $db.get_copy_data) do all << row end }; all }
tell('SELECT count(*), sum(a), sum(c) FROM copied')

section 'cancel'
ask('cancelled') { $db.send_query('SELECT pg_sleep(100)'); sleep 0.2; $db.cancel; $db.get_last_result }
tell "SELECT 'still here'"
ask('timeout') { $db.exec('SET statement_timeout = 100'); $db.exec('SELECT pg_sleep(100)') }
$db.exec('RESET statement_timeout')

section 'single rows'
ask('rows') { n = 0; $db.send_query('SELECT a FROM copied ORDER BY a'); $db.set_single_row_mode; $db.get_result.stream_each { n += 1 }; $db.get_result; n }
ask('rows with an error') { n = 0; $db.send_query('SELECT 1/(3000 - a) FROM copied ORDER BY a'); $db.set_single_row_mode; begin; $db.get_result.stream_each { n += 1 }; ensure; $db.discard_results; end }
tell 'SELECT 1'

section 'large values'
text, raw = 'äx€z' * 1_000_000, ("\0\xff\\'\x80" * 2_000_000).b
[0, 1].each do |format|
  ask("format #{format}") do
    t, n, b = $db.exec_params('SELECT $1::text, length($1), $2::bytea', [text, { value: raw, format: 1 }], format).values[0]
    [t.dup.force_encoding('UTF-8') == text, format == 1 ? n.unpack1('N') : n.to_i, (format == 1 ? b : PG::Connection.unescape_bytea(b)) == raw]
  end
end
ask('5,000 parameters') { $db.exec_params("SELECT count(*) FROM copied WHERE a IN (#{(1..5000).map { |i| "$#{i}" }.join(', ')})", (1..30_000).to_a).values }

section 'pipeline'
if $db.respond_to?(:enter_pipeline_mode)
  ask('several') do
    $db.enter_pipeline_mode
    $db.send_query_params('SELECT $1::integer', [1])
    $db.send_query_params('SELECT 1/$1::integer', [0])
    $db.send_query_params('SELECT 3', [])
    $db.pipeline_sync
    $db.send_query_params('SELECT 4', [])
    $db.pipeline_sync
    all = []
    7.times { while (r = $db.get_result) do all << (r.result_status == PG::PGRES_FATAL_ERROR ? r.error_field(PG::PG_DIAG_SQLSTATE) : [PG.constants.grep(/^PGRES_/).find { |c| PG.const_get(c) == r.result_status }, r.values]); end }
    $db.exit_pipeline_mode
    all
  end
end

section 'cursors'
$db.exec('BEGIN')
ask('declare and fetch') { run('DECLARE walk CURSOR FOR SELECT a FROM copied ORDER BY a') + run('FETCH 2 FROM walk') }
$db.exec('ROLLBACK')
