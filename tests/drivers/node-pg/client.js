// pg (node-postgres): simple queries without parameters, unnamed and named statements with them, all in text; pools; cursors and streams of rows; COPY streams.
'use strict';
const { section, fact, digest, asking, values } = require(process.env.LIB + '/facts.js');
const pg = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const { from: copyFrom, to: copyTo } = require('pg-copy-streams');
const { Readable, pipeline: plain } = require('stream');
const pipeline = require('util').promisify(plain);

function describe(e) {
  if (!e.code || !/^[0-9A-Z]{5}$/.test(e.code)) return `${e.name} in the client: ${e.message}`;
  const names = ['severity', 'detail', 'hint', 'position', 'schema', 'table', 'column', 'dataType', 'constraint'];
  return `${e.code} ${e.message} ` + names.filter((n) => e[n] !== undefined).map((n) => `${n}=${e[n]}`).join(' ');
}

const ask = asking(describe);
let db;

async function run(text, params, more) {
  const result = await db.query({ text, values: params, rowMode: 'array', ...more });
  return (Array.isArray(result) ? result : [result]).map((r) => ({ command: r.command, count: r.rowCount, fields: r.fields.map((f) => [f.name, f.dataTypeID, f.dataTypeSize, f.dataTypeModifier, f.columnID, f.format]), rows: r.rows }));
}

const tell = (text, params, more) => ask([text, params ? JSON.stringify(params) : '', more ? JSON.stringify(more) : ''].join(' ').trim(), () => run(text, params, more));

async function connecting() {
  section('connect');
  for (const [name, how] of [['wrong password', { password: 'wrong' }], ['empty password', { password: '' }], ['no such user', { user: 'nobody-there' }], ['no such database', { database: 'no-such-database' }],
    ['timeouts', { statement_timeout: 12345, lock_timeout: 2345, idle_in_transaction_session_timeout: 34567, application_name: 'drivers' }], ['options', { options: '-c statement_timeout=777' }]]) {
    await ask(name, async () => {
      const other = new pg.Client(how);
      await other.connect();
      const found = [];
      for (const setting of ['application_name', 'statement_timeout', 'idle_in_transaction_session_timeout', ...(how.lock_timeout ? ['lock_timeout'] : [])]) found.push((await other.query('SHOW ' + setting)).rows[0][setting]);
      await other.end();
      return found;
    });
  }
}

async function types() {
  section('types, from text to text');
  for (const [t, text] of values()) await tell(`SELECT $1::${t} AS v`, [text]);
  section('types, binary results');
  for (const [t, text] of values()) await ask(`${t} ${text}`, async () => (await db.query({ text: `SELECT $1::text::${t} AS v`, values: [text], binary: true, types: { getTypeParser: () => (raw) => raw } })).rows[0].v);
  section('types, from JavaScript');
  await db.query('CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, d date, ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb)');
  await tell('INSERT INTO stored VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING *', [1, true, -3, '1099511627776', 1.5, 0.1, '12.345', 'ä🐘', '2024-02-29', new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 456)),
    new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 456)), '1 day 02:03:04.5', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', Buffer.from([0, 1, 255, 39, 92]), { a: [1, null, 'ä'] }, { b: 1.5 }]);
  await tell('INSERT INTO stored VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING *', [2, ...new Array(15).fill(null)]);
  await tell('INSERT INTO stored (id, by, f8) VALUES ($1, $2, $3) RETURNING id, by, f8', [3, Buffer.alloc(0), NaN]);
  await tell('SELECT count(*), sum(i8), max(f8), min(d) FROM stored');
}

async function statements() {
  section('inference of parameters');
  await db.query("CREATE TABLE t (id integer PRIMARY KEY, a smallint, b text, c numeric, d date); INSERT INTO t VALUES (1, 1, 'a', 1, '2024-01-01'), (2, 2, 'b', 2, '2024-01-02'), (3, NULL, NULL, NULL, NULL)");
  for (const [text, params] of [['SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2', [2, 1]], ['SELECT id FROM t WHERE b = $1', ['a']], ['SELECT id FROM t WHERE id = $1', ['2']], ['SELECT id FROM t WHERE id = $1', ['x']],
    ['SELECT id FROM t WHERE d = $1', ['2024-01-02']], ['SELECT coalesce($1, b) FROM t ORDER BY id', ['x']], ["SELECT $1 || 'b'", ['x']], ['SELECT $1 + 1', [5]], ['SELECT $1', ['text']], ['SELECT $1', [null]], ['SELECT $1 = $2', ['a', 'b']],
    ['SELECT id FROM t WHERE id IN ($1, $2) ORDER BY id', [1, 3]], ['SELECT CASE WHEN $1 THEN $2 ELSE b END FROM t WHERE id = 1', [true, 'y']], ['UPDATE t SET a = $1, b = $2 WHERE id = $3', [7, null, 1]],
    ['INSERT INTO t VALUES ($1, $2, $3, $4, $5) RETURNING *', [9, 3, 'z', 1.5, null]], ['SELECT $1::date - $2::date AS days', ['2024-03-01', '2024-02-01']], ['SELECT now() - $1 > $2', ['1 day', new Date(0)]],
    ['VALUES ($1, $2), ($3, $4)', [1, 'a', 2, 'b']], ['SELECT $1::int2 + $2::int8 AS v', [1, 2]], ['DELETE FROM t WHERE id = $1', [9]], ['SELECT id FROM t WHERE b LIKE $1', ['b%']], ['SELECT $1, $1', ['x']], ['SELECT 1', [1]], ['SELECT $1, $2', [1]]]) await tell(text, params);
  section('named statements');
  for (const n of [1, 2, 3]) await tell('SELECT id, b FROM t WHERE id = $1', [n], { name: 'by id' });
  await tell('SELECT 1', [], { name: 'by id' });
  await tell('SELECT nothing FROM t', [], { name: 'wrong' });
  await tell('SELECT id FROM t WHERE id = $1', [1], { name: 'wrong' });
  section('re-preparation after DDL');
  await db.query('CREATE TABLE again (a integer)');
  await tell('SELECT * FROM again WHERE a > $1', [0], { name: 'again' });
  await db.query('DROP TABLE again');
  await tell('SELECT * FROM again WHERE a > $1', [0], { name: 'again' });
  await db.query("CREATE TABLE again (a integer); INSERT INTO again VALUES (1)");
  await tell('SELECT * FROM again WHERE a > $1', [0], { name: 'again' });
  await db.query("DROP TABLE again; CREATE TABLE again (a integer, b text)");
  await tell('SELECT * FROM again WHERE a > $1', [0], { name: 'again' });
  section('simple queries');
  for (const text of ['', ';', '-- nothing', "SELECT 1 AS a; SELECT 'b' AS b, NULL AS c", 'SELECT 1; SELECT 1/0; SELECT 2', 'CREATE TABLE three (a integer); INSERT INTO three VALUES (1), (2); UPDATE three SET a = a + 1', 'BEGIN; INSERT INTO three VALUES (5); ROLLBACK',
    'SELECT count(*) FROM three', 'SHOW server_version_num']) await ask(text, async () => {
    const r = await db.query(text);
    return (Array.isArray(r) ? r : [r]).map((x) => [x.command, x.rowCount, x.rows]);
  });
  section('transactions');
  for (const text of ['BEGIN', 'INSERT INTO t VALUES (20)', 'SAVEPOINT a', 'INSERT INTO t VALUES (20)', 'SELECT 1', 'ROLLBACK TO a', 'INSERT INTO t VALUES (21)', 'RELEASE a', 'COMMIT', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY', 'INSERT INTO t VALUES (22)', 'COMMIT',
    'SELECT id FROM t WHERE id >= 20 ORDER BY id']) await tell(text, text.includes('INSERT') ? [] : undefined);
  section('errors');
  await db.query("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n)); INSERT INTO ref VALUES (1, 1, 1, 1, 'a')");
  for (const [text, params] of [['INSERT INTO ref VALUES ($1, 2, 3, 4)', [1]], ['INSERT INTO ref VALUES (2, $1, 3, 4)', [1]], ['INSERT INTO ref VALUES (2, 2, $1, $2)', [1, 1]], ['INSERT INTO ref VALUES (2, 2, $1)', [null]], ['INSERT INTO ref VALUES (2, 2, 2, $1)', [40000]],
    ['INSERT INTO ref VALUES (2, 2, 2, 2, $1)', ['abcd']], ['SELECT * FROM nowhere'], ['SELECT 1 / $1::integer', [0]], ['SELECT $1::integer', ['x']], ['SELECT $1::date', ['2024-13-01']], ['SELECT $1 +', [1]], ['SELECT nosuch($1::integer)', [1]], ['SELECT 1; SELECT $1', [1]],
    ['SELECT $1::text', ['a\0b']], ['SELECT $1::jsonb', ['{']]]) await tell(text, params);
  section('many at once on one connection');
  await ask('queue', async () => Promise.all([...new Array(50).keys()].map(async (i) => (await db.query(i % 10 === 7 ? 'SELECT 1 / ($1::integer - $1::integer) AS v' : 'SELECT $1::integer * 2 AS v', [i]).catch((e) => ({ rows: [{ v: e.code }] }))).rows[0].v)));
}

async function cursors() {
  section('cursors');
  await db.query('CREATE TABLE numbers (i integer PRIMARY KEY, t text)');
  await pipeline(Readable.from((function* () { for (let i = 0; i < 3000; i++) yield `${i}\tt${i}\n`; })()), db.query(copyFrom('COPY numbers FROM STDIN')));
  await ask('read', async () => {
    const c = db.query(new Cursor('SELECT i, t FROM numbers WHERE i >= $1 ORDER BY i', [10], { rowMode: 'array' }));
    const found = [await c.read(2), (await c.read(1000)).length, (await c.read(5000)).length, await c.read(5)];
    await c.close();
    return found;
  });
  await ask('closed early', async () => {
    const c = db.query(new Cursor('SELECT i FROM numbers ORDER BY i'));
    const found = await c.read(3);
    await c.close();
    return found;
  });
  await tell("SELECT 'after'");
  await ask('an error in the middle', async () => {
    const c = db.query(new Cursor('SELECT 10 / (5 - i) AS v FROM numbers WHERE i < 8 ORDER BY i'));
    fact('before', await c.read(3));
    return c.read(5);
  });
  await tell("SELECT 'after'");
  await ask('an error at once', () => db.query(new Cursor('SELECT nothing')).read(5));
  await ask('INSERT RETURNING', async () => {
    const c = db.query(new Cursor('INSERT INTO numbers VALUES (10000), (10001), (10002) RETURNING i', [], { rowMode: 'array' }));
    const found = [await c.read(2), await c.read(2)];
    await c.close();
    return found;
  });
  section('streams of rows');
  for (const how of [{ batchSize: 7 }, { batchSize: 1000, highWaterMark: 10 }, {}]) await ask(JSON.stringify(how), async () => {
    const stream = db.query(new QueryStream('SELECT i FROM numbers WHERE i < $1 ORDER BY i', [2500], how));
    let n = 0, sum = 0;
    for await (const row of stream) { n++; sum += row.i; }
    return [n, sum];
  });
  await ask('left early', async () => {
    const stream = db.query(new QueryStream('SELECT i FROM numbers ORDER BY i', [], { batchSize: 10 }));
    for await (const row of stream) if (row.i === 25) return row;
  });
  await ask('an error in the middle', async () => {
    let n = 0;
    const stream = db.query(new QueryStream('SELECT 10 / (50 - i) AS v FROM numbers WHERE i < 80 ORDER BY i', [], { batchSize: 20 }));
    for await (const row of stream) n++;
    return n;
  });
  await tell("SELECT 'after'");
}

async function copying() {
  section('COPY');
  await db.query('CREATE TABLE copied (a integer, b text, c numeric)');
  const put = (name, text, chunks) => ask(name, async () => {
    const stream = db.query(copyFrom(text));
    await pipeline(Readable.from(chunks), stream);
    return stream.rowCount;
  });
  const get = (name, text) => ask(name, async () => {
    const chunks = [];
    const stream = db.query(copyTo(text));
    for await (const chunk of stream) chunks.push(chunk);
    return [Buffer.concat(chunks).toString('latin1'), stream.rowCount];
  });
  await put('in, text', 'COPY copied FROM STDIN', ['1\tä\\tb\t1.50\n2\t\\N', '\t\\N\n']);
  await put('in, csv', 'COPY copied (b, a) FROM STDIN WITH (FORMAT csv, HEADER)', ['b,a\n"x,""y""\nz",3\n,4\n']);
  await put('in, nothing', 'COPY copied FROM STDIN', []);
  await put('in, a wrong row', 'COPY copied FROM STDIN', ['1\tx\t1\n', 'x\ty\tz\n']);
  await put('in, no such table', 'COPY nowhere FROM STDIN', ['1\n']);
  await put('in, the client gives up', 'COPY copied FROM STDIN', (function* () { yield '1\tx\t1\n'; throw new Error('given up'); })());
  await get('out, text', 'COPY copied TO STDOUT');
  await get('out, csv', "COPY (SELECT a, b FROM copied ORDER BY a DESC) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';')");
  await get('out, binary', 'COPY copied TO STDOUT (FORMAT binary)');
  await get('out, an error', 'COPY (SELECT 1 / (a - 3) FROM copied ORDER BY a) TO STDOUT');
  await put('in, 100,000 rows', 'COPY copied FROM STDIN', (function* () { for (let i = 0; i < 100; i++) yield `${i}\tx\t1\n`.repeat(1000); })());
  await tell('SELECT count(*), sum(a) FROM copied');
}

async function rest() {
  section('pools');
  const pool = new pg.Pool({ max: 4, application_name: 'pool' });
  await ask('many at once', async () => Promise.all([...new Array(40).keys()].map(async (i) => (await pool.query('SELECT $1::integer + 1 AS v', [i])).rows[0].v)));
  await ask('statement_timeout', async () => {
    const c = await pool.connect();
    try {
      await c.query("SET statement_timeout = '100ms'");
      await c.query('SELECT pg_sleep(100)');
    } finally {
      c.release(true);
    }
  });
  await ask('query_timeout', () => pool.query({ text: 'SELECT pg_sleep(0.5)', query_timeout: 50 }));
  await pool.end();
  section('cancel');
  await ask('pg_cancel_backend', async () => {
    const other = new pg.Client();
    await other.connect();
    setTimeout(() => other.query('SELECT pg_cancel_backend($1)', [db.processID]).then(() => other.end()), 300);
    await db.query('SELECT pg_sleep(100)');
  });
  await tell("SELECT 'still here'");
  section('notices');
  db.on('notice', (n) => fact('notice', describe(n)));
  for (const text of ['DROP TABLE IF EXISTS nowhere', 'CREATE TABLE IF NOT EXISTS ref (a integer)', 'COMMIT']) await tell(text);
  section('many parameters, large values');
  await ask('1,000 parameters', async () => (await db.query('SELECT ' + [...new Array(1000).keys()].map((i) => `$${i + 1}::integer`).join(' + ') + ' AS v', [...new Array(1000).keys()])).rows);
  const text = 'äx€z'.repeat(5000000), raw = Buffer.alloc(20480000, Buffer.from([...new Array(256).keys()]));
  const { t, b } = (await db.query('SELECT $1::text AS t, $2::bytea AS b', [text, raw])).rows[0];
  fact('text', digest(t));
  fact('bytea', digest(b));
  fact('same', [t === text, b.equals(raw)]);
  section('arrays');
  for (const [text2, params] of [['SELECT $1::integer[] AS v', [[1, null, 2]]], ['SELECT $1::text[] AS v', [['a', 'q"x', null]]], ['SELECT id FROM t WHERE id = ANY($1) ORDER BY id', [[1, 2]]], ['SELECT $1::integer[] AS v', [[[1, 2], [3, 4]]]]]) await tell(text2, params);
  section('listening');
  const heard = new Promise((resolve) => db.once('notification', (n) => resolve([n.channel, n.payload, n.processId === db.processID])));
  await tell('LISTEN channel');
  await tell("NOTIFY channel, 'payload'");
  fact('received', await heard);
}

(async () => {
  db = new pg.Client();
  await db.connect();
  for (const part of [connecting, types, statements, cursors, copying, rest]) await part();
  await db.end();
})();
