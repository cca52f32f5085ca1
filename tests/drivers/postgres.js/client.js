// postgres (postgres.js): named statements, described on first use; types by the described parameters; cursors by row limits; COPY streams; transactions; types of arrays from pg_type.
'use strict';
const { section, fact, digest, asking, values } = require(process.env.LIB + '/facts.js');
const postgres = require('postgres');
const { Readable } = require('stream');
const { pipeline } = require('stream/promises');

function describe(e) {
  if (e.name !== 'PostgresError') return e.code ? `${e.name} ${e.code} in the client` : null;
  const names = ['severity', 'detail', 'hint', 'position', 'schema_name', 'table_name', 'column_name', 'type_name', 'constraint_name'];
  return `${e.code} ${e.message} ` + names.filter((n) => e[n] !== undefined).map((n) => `${n}=${e[n]}`).join(' ');
}

const ask = asking(describe);
const HOW = { max: 1, onnotice: (n) => fact('notice', describe(Object.assign(Object.create({ name: 'PostgresError' }), n))) };
let sql;

async function run(text, params, more) {
  const r = await sql.unsafe(text, params, more);
  return { command: r.command, count: r.count, columns: r.columns && r.columns.map((c) => [c.name, c.type, c.table !== 0, c.number]), types: r.statement && r.statement.types, rows: [...r] };
}

const tell = (text, params, more) => ask([text, params ? JSON.stringify(params) : ''].join(' ').trim(), () => run(text, params, more));

async function connecting() {
  section('connect');
  const parameters = sql.parameters;
  for (const name of ['server_version', 'server_encoding', 'client_encoding', 'is_superuser', 'session_authorization', 'DateStyle', 'IntervalStyle', 'TimeZone', 'integer_datetimes', 'standard_conforming_strings', 'application_name', 'in_hot_standby',
    'default_transaction_read_only']) fact(name, parameters[name]);
  for (const [name, how] of [['wrong password', { password: 'wrong' }], ['no such user', { user: 'nobody-there' }], ['no such database', { database: 'no-such-database' }], ['settings', { connection: { application_name: 'drivers', statement_timeout: 12345 } }],
    ['no such setting', { connection: { no_such: 1 } }], ['read-write', { target_session_attrs: 'read-write' }], ['without types', { fetch_types: false }]]) {
    await ask(name, async () => {
      const other = postgres({ ...HOW, ...how });
      try {
        return [await other`SHOW application_name`, await other`SHOW statement_timeout`].map((r) => r[0]);
      } finally {
        await other.end();
      }
    });
  }
}

async function types() {
  section('types, from text');
  for (const [t, text] of values()) await tell(`SELECT $1::text::${t} AS v`, [text]);
  section('types, by the described parameter');
  for (const [t, text] of values()) if (!['bytea', 'boolean', 'json', 'jsonb', 'date', 'timestamp', 'timestamptz'].includes(t)) await tell(`SELECT $1::${t} AS v`, [text]);
  section('types, from JavaScript');
  await sql.unsafe('CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, d date, ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb)');
  const row = { id: 1, b: true, i2: -3, i8: 1099511627776n.toString(), f4: 1.5, f8: 0.1, n: '12.345', t: 'ä🐘', d: new Date(Date.UTC(2024, 1, 29)), ts: new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 456)), tz: new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 456)), iv: '1 day 02:03:04.5',
    u: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', by: Buffer.from([0, 1, 255, 39, 92]), j: { a: [1, null, 'ä'] }, jb: { b: 1.5 } };
  await ask('insert helper', async () => [...await sql`INSERT INTO stored ${sql(row)} RETURNING *`]);
  await ask('several rows', async () => [...await sql`INSERT INTO stored ${sql([{ id: 2, t: 'x', by: null }, { id: 3, t: null, by: Buffer.alloc(0) }], 'id', 't', 'by')} RETURNING id, t, by`]);
  await ask('update helper', async () => [...await sql`UPDATE stored SET ${sql({ t: 'changed', f8: 2.5 }, 't', 'f8')} WHERE id = ${2} RETURNING id, t, f8`]);
  await ask('in helper', async () => [...await sql`SELECT id FROM stored WHERE id IN ${sql([1, 3])} ORDER BY id`]);
  await ask('columns helper', async () => [...await sql`SELECT ${sql(['id', 't'])} FROM ${sql('stored')} ORDER BY id`]);
  await ask('null', async () => [...await sql`SELECT ${null}::text AS v`]);
  await ask('undefined', () => sql`SELECT ${undefined} AS v`);
  await ask('values', async () => (await sql`SELECT id, t FROM stored ORDER BY id`.values()).map((r) => [...r]));
  await ask('raw', async () => (await sql`SELECT id, t FROM stored ORDER BY id`.raw()).map((r) => [...r]));
  await ask('describe', async () => {
    const d = await sql`SELECT id, n, by FROM stored WHERE t = ${'x'} AND tz < ${new Date(0)} AND i2 > ${1}`.describe();
    return [d.types, d.columns.map((c) => [c.name, c.type, c.number])];
  });
}

async function statements() {
  section('inference of parameters');
  await sql.unsafe("CREATE TABLE t (id integer PRIMARY KEY, a smallint, b text, c numeric, d date); INSERT INTO t VALUES (1, 1, 'a', 1, '2024-01-01'), (2, 2, 'b', 2, '2024-01-02'), (3, NULL, NULL, NULL, NULL)");
  for (const [text, params] of [['SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2', [2, 1]], ['SELECT id FROM t WHERE b = $1', ['a']], ['SELECT id FROM t WHERE id = $1', [2]], ['SELECT id FROM t WHERE d = $1', ['2024-01-02']], ['SELECT coalesce($1, b) AS v FROM t ORDER BY id', ['x']],
    ["SELECT $1 || 'b' AS v", ['x']], ['SELECT $1 + 1 AS v', [5]], ['SELECT $1 AS v', ['text']], ['SELECT $1 = $2 AS v', ['a', 'b']], ['SELECT id FROM t WHERE id IN ($1, $2) ORDER BY id', [1, 3]], ['SELECT CASE WHEN $1 THEN $2 ELSE b END AS v FROM t WHERE id = 1', [true, 'y']],
    ['UPDATE t SET a = $1, b = $2 WHERE id = $3', [7, null, 1]], ['INSERT INTO t VALUES ($1, $2, $3, $4, $5) RETURNING *', [9, 3, 'z', 1.5, null]], ['SELECT $1::date - $2::date AS days', ['2024-03-01', '2024-02-01']], ['VALUES ($1, $2), (1, \'x\')', [2, 'b']],
    ['DELETE FROM t WHERE id = $1', [9]], ['SELECT substr($1, $2) AS v', ['abc', 2]], ['SELECT 1 AS v WHERE $1', [true]]]) await tell(text, params, { prepare: true });
  section('simple queries');
  await ask('several', async () => (await sql.unsafe("SELECT 1 AS a; SELECT 'b' AS b; CREATE TABLE three (a integer)").simple()).map((r) => [r.command, r.count, [...r]]));
  await ask('several, an error', () => sql.unsafe('SELECT 1; SELECT 1/0').simple());
  await ask('empty', async () => [...await sql.unsafe('').simple()]);
  section('re-preparation after DDL');
  const again = () => ask('again', async () => [...await sql`SELECT * FROM again WHERE a > ${0}`]);
  await sql.unsafe('CREATE TABLE again (a integer)');
  await again();
  await sql.unsafe('DROP TABLE again');
  await again();
  await sql.unsafe('CREATE TABLE again (a integer); INSERT INTO again VALUES (1)').simple();
  await again();
  await sql.unsafe("DROP TABLE again; CREATE TABLE again (a integer, b text); INSERT INTO again VALUES (1, 'x')").simple();
  await again();
  await again();
  section('transactions');
  await ask('begin', () => sql.begin(async (t) => {
    await t`INSERT INTO t VALUES (${20})`;
    await t.savepoint(async (s) => { await s`INSERT INTO t VALUES (${20})`; }).catch((e) => fact('savepoint', describe(e)));
    await t.savepoint('named', (s) => s`INSERT INTO t VALUES (${21})`);
    return [...await t`SELECT id FROM t WHERE id >= 20 ORDER BY id`];
  }));
  await ask('begin with options', () => sql.begin('isolation level serializable read only', async (t) => [await t`SHOW transaction_isolation`, await t`INSERT INTO t VALUES (${30})`]));
  await ask('thrown', () => sql.begin(async (t) => { await t`INSERT INTO t VALUES (${31})`; throw Object.assign(new Error('own'), { code: 'OWN' }); }));
  await ask('pipelined', async () => (await sql.begin((t) => [t`INSERT INTO t VALUES (${40})`, t`INSERT INTO t VALUES (${41})`, t`SELECT count(*) FROM t`])).map((r) => [r.command, r.count, [...r]]));
  await ask('pipelined, an error', () => sql.begin((t) => [t`INSERT INTO t VALUES (${50})`, t`INSERT INTO t VALUES (${50})`, t`SELECT count(*) FROM t`]));
  await tell('SELECT id FROM t WHERE id >= $1 ORDER BY id', [20]);
  await ask('prepare', () => sql.begin(async (t) => { await t`INSERT INTO t VALUES (${60})`; return 'done'; }));
  section('errors');
  await sql.unsafe("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n)); INSERT INTO ref VALUES (1, 1, 1, 1, 'a')").simple();
  for (const [text, params] of [['INSERT INTO ref VALUES ($1, 2, 3, 4)', [1]], ['INSERT INTO ref VALUES (2, $1, 3, 4)', [1]], ['INSERT INTO ref VALUES (2, 2, $1, $2)', [1, 1]], ['INSERT INTO ref VALUES (2, 2, $1)', [null]], ['INSERT INTO ref VALUES (2, 2, 2, $1)', [40000]],
    ['INSERT INTO ref VALUES (2, 2, 2, 2, $1)', ['abcd']], ['SELECT * FROM nowhere', []], ['SELECT 1 / $1::integer AS v', [0]], ['SELECT $1::integer AS v', ['x']], ['SELECT $1 +', [1]], ['SELECT nosuch($1::integer)', [1]]]) await tell(text, params);
  section('many at once');
  await ask('pipelined on one connection', () => Promise.all([...new Array(100).keys()].map((i) => sql`SELECT ${i}::integer * 2 AS v, 10 / (${i}::integer - 37) AS w`.then((r) => r[0].v, (e) => e.code))));
}

async function cursors() {
  section('cursors');
  await sql.unsafe('CREATE TABLE numbers (i integer PRIMARY KEY, t text)');
  await pipeline(Readable.from((function* () { for (let i = 0; i < 3000; i++) yield `${i}\tt${i}\n`; })()), await sql`COPY numbers FROM STDIN`.writable());
  for (const n of [7, 1000, 3000, 5000]) await ask(`${n} at a time`, async () => {
    let count = 0, sum = 0, calls = 0;
    await sql`SELECT i, t FROM numbers WHERE i >= ${10} ORDER BY i`.cursor(n, (rows) => { calls++; count += rows.length; for (const r of rows) sum += r.i; });
    return [calls, count, sum];
  });
  await ask('as an iterator', async () => {
    const found = [];
    for await (const rows of sql`SELECT i FROM numbers ORDER BY i`.cursor(2)) {
      found.push(...rows.map((r) => r.i));
      if (found.length >= 6) break;
    }
    return found;
  });
  await ask('ended early', async () => {
    const found = [];
    await sql`SELECT i FROM numbers ORDER BY i`.cursor(5, (rows) => { found.push(rows[0].i); return found.length === 3 ? sql.CLOSE : undefined; });
    return found;
  });
  await ask('an error in the middle', async () => {
    let n = 0;
    await sql`SELECT 10 / (50 - i) AS v FROM numbers WHERE i < 80 ORDER BY i`.cursor(20, (rows) => { n += rows.length; fact('so far', n); });
  });
  await ask('forEach', async () => {
    let n = 0;
    const r = await sql`SELECT i FROM numbers`.forEach(() => { n++; });
    return [n, r.count, r.command];
  });
  section('COPY');
  await sql.unsafe('CREATE TABLE copied (a integer, b text, c numeric)');
  const put = (name, query, chunks) => ask(name, async () => { await pipeline(Readable.from(chunks), await query.writable()); });
  await put('in, text', sql`COPY copied FROM STDIN`, ['1\tä\\tb\t1.50\n2\t\\N', '\t\\N\n']);
  await put('in, csv', sql`COPY copied (b, a) FROM STDIN WITH (FORMAT csv, HEADER)`, ['b,a\n"x,""y""\nz",3\n,4\n']);
  await ask('in, the client gives up', async () => {
    const stream = await sql`COPY copied FROM STDIN`.writable();
    stream.on('error', () => {});
    stream.write('1\tx\t1\n');
    await new Promise((done) => stream.destroy(undefined) && stream.once('close', done));
  });
  await tell("SELECT 'after' AS v");
  for (const [name, query] of [['out, text', () => sql`COPY copied TO STDOUT`], ['out, csv', () => sql`COPY (SELECT a, b FROM copied ORDER BY a DESC) TO STDOUT WITH (FORMAT csv, HEADER)`], ['out, binary', () => sql`COPY copied TO STDOUT (FORMAT binary)`]]) await ask(name, async () => {
    const chunks = [];
    for await (const chunk of await query().readable()) chunks.push(chunk);
    return Buffer.concat(chunks).toString('latin1');
  });
}

async function rest() {
  section('cancel');
  await ask('cancel', async () => {
    const query = sql`SELECT pg_sleep(100)`;
    setTimeout(() => query.cancel(), 300);
    await query;
  });
  await tell("SELECT 'still here' AS v");
  await ask('statement_timeout', async () => { await sql`SET statement_timeout = 100`; await sql`SELECT pg_sleep(100)`; });
  await sql`RESET statement_timeout`;
  section('notices');
  for (const text of ['DROP TABLE IF EXISTS nowhere', 'CREATE TABLE IF NOT EXISTS ref (a integer)', 'COMMIT']) await tell(text);
  section('many parameters, large values');
  await ask('1,000 parameters', async () => [...await sql.unsafe('SELECT ' + [...new Array(1000).keys()].map((i) => `$${i + 1}::integer`).join(' + ') + ' AS v', [...new Array(1000).keys()])]);
  const text = 'äx€z'.repeat(5000000), raw = Buffer.alloc(20480000, Buffer.from([...new Array(256).keys()]));
  const [{ t, b }] = await sql`SELECT ${text}::text AS t, ${raw}::bytea AS b`;
  fact('text', digest(t));
  fact('bytea', digest(b));
  fact('same', [t === text, b.equals(raw)]);
  section('a pool');
  const pool = postgres({ ...HOW, max: 4 });
  await ask('many at once', () => Promise.all([...new Array(40).keys()].map((i) => pool`SELECT ${i}::integer + 1 AS v`.then((r) => r[0].v))));
  await ask('reserve', async () => { const r = await pool.reserve(); const v = [...await r`SELECT 1 AS v`]; r.release(); return v; });
  await pool.end();
  section('arrays');
  await ask('integers', async () => [...await sql`SELECT ${sql.array([1, 2, 3])}::integer[] AS v`]);
  await ask('texts', async () => [...await sql`SELECT ${['a', 'q"x', null]}::text[] AS v`]);
  await ask('ANY', async () => [...await sql`SELECT id FROM t WHERE id = ANY(${[1, 2]}::integer[]) ORDER BY id`]);
  section('listening');
  let hear;
  const heard = new Promise((resolve) => { hear = resolve; });
  const { unlisten } = await sql.listen('channel', hear);
  await ask('NOTIFY', async () => (await sql.notify('channel', 'payload')).command);
  fact('received', await heard);
  await unlisten();
  section('two-phase commit');
  await ask('prepare', () => sql.begin(async (t) => { await t.prepare('drivers'); }));
}

(async () => {
  sql = postgres(HOW);
  await sql`SELECT 1`;
  for (const part of [connecting, types, statements, cursors, rest]) await part();
  await sql.end();
})();
