-- psql: its own commands over simple queries; the catalog's commands (\d and its kin) are not here.
\pset pager off
\set VERBOSITY verbose
\set SHOW_CONTEXT always
-- verbose errors name the server's source: only the default form is the same everywhere
\set VERBOSITY default

\echo == statements
SELECT 1 AS one, 'ä€🐘' AS "Ünïcode", NULL AS nothing, true AS t, 1.50 AS n;
SELECT 1 \; SELECT 2 AS b;
SELECT;
SELECT FROM (VALUES (1), (2)) AS v (i);
CREATE TABLE t (id integer PRIMARY KEY, name text NOT NULL, amount numeric(10,2), day date);
INSERT INTO t VALUES (1, 'one', 1.5, '2024-01-01'), (2, E'two\nlines', NULL, NULL), (3, 'drei|"ß"', -3, 'infinity') RETURNING *;
UPDATE t SET amount = 0 WHERE id = 2;
\echo :ROW_COUNT :SQLSTATE :ERROR :LAST_ERROR_SQLSTATE

\echo == formats
\pset null '(null)'
SELECT * FROM t ORDER BY id;
\x
SELECT * FROM t ORDER BY id;
\x
\pset format csv
SELECT * FROM t ORDER BY id;
\pset format html
SELECT * FROM t ORDER BY id;
\pset format latex
SELECT id, name FROM t WHERE id = 1;
\pset format asciidoc
SELECT * FROM t ORDER BY id;
\pset format unaligned
\pset fieldsep '\t'
SELECT * FROM t ORDER BY id;
\pset format aligned
\pset border 2
\pset linestyle unicode
\pset numericlocale off
\pset footer off
SELECT * FROM t ORDER BY id;
\pset border 1
\pset linestyle ascii
\pset footer on
\t
SELECT count(*) FROM t;
\t
\C 'a title'
SELECT id FROM t WHERE id = 1 \gx
\C
\pset null ''

\echo == variables
\set who 'it''s'
SELECT :'who' AS v, :"who" FROM (SELECT 1 AS "it's") AS s;
SELECT 42 AS answer, 'x' AS "Other" \gset my_
\echo :my_answer :my_Other
SELECT 1 AS a WHERE false \gset
SELECT 'SELECT ' || i || ' AS r' FROM (VALUES (1), (2)) AS v (i) \gexec
SELECT 'SELECT 1/0' \gexec
\if :my_answer
\echo yes
\else
\echo no
\endif
SELECT :my_answer + 1 AS v \g (format=unaligned tuples_only=on)
SELECT 'to a file' AS v \g out.txt
\! cat out.txt
SELECT 'to a pipe' AS v \g | cat
\o out.txt
SELECT 'redirected' AS v;
\o
\! cat out.txt
\echo :SERVER_VERSION_NUM :SERVER_VERSION_NAME :ENCODING :DBNAME :USER

\echo == crosstab
SELECT v, h, string FROM (VALUES ('v1', 'h1', 'a'), ('v2', 'h2', 'b'), ('v1', 'h2', 'c'), ('v3', 'h1', NULL)) AS l (v, h, string) ORDER BY 1, 2 \crosstabview
SELECT id, day, sum(amount) FROM t GROUP BY id, day ORDER BY id \crosstabview 1 2 3
SELECT 1 AS a, 2 AS b \crosstabview

\echo == errors
SELECT 1/0;
\echo :ERROR :SQLSTATE :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
SELECT nothing FROM t;
SELECT * FROM nowhere;
INSERT INTO t VALUES (1, 'again');
INSERT INTO t VALUES (9, NULL);
SELECT 1
  , 2
  FROM nowhere
  WHERE true;
SELECT 'ä', ,;
SELECT 1; SELECT 1/0; SELECT 3;
\set VERBOSITY terse
SELECT nothing FROM t;
\set VERBOSITY sqlstate
SELECT nothing FROM t;
INSERT INTO t VALUES (1, 'again');
\set VERBOSITY default
DROP TABLE IF EXISTS nowhere;

\echo == ON_ERROR_ROLLBACK
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO t VALUES (10, 'kept');
INSERT INTO t VALUES (10, 'twice');
SELECT nothing;
SAVEPOINT own;
INSERT INTO t VALUES (11, 'gone');
ROLLBACK TO own;
INSERT INTO t VALUES (12, 'kept');
COMMIT;
\set ON_ERROR_ROLLBACK off
BEGIN;
SELECT 1/0;
SELECT 1;
COMMIT;
SELECT id FROM t WHERE id >= 10 ORDER BY id;

\echo == AUTOCOMMIT off
\set AUTOCOMMIT off
INSERT INTO t VALUES (20, 'gone');
ROLLBACK;
INSERT INTO t VALUES (21, 'kept');
COMMIT;
ROLLBACK;
\set AUTOCOMMIT on
SELECT id FROM t WHERE id >= 20 ORDER BY id;

\echo == copy
CREATE TABLE c (a integer, b text);
\copy c FROM stdin
1	one
2	\N
\.
COPY c FROM STDIN WITH (FORMAT csv);
3,"with, comma"
4,
\.
\copy (SELECT * FROM c ORDER BY a) TO 'c.csv' WITH (FORMAT csv, HEADER)
\! cat c.csv
\copy c FROM 'c.csv' WITH (FORMAT csv, HEADER)
\copy c TO 'c.bin' WITH (FORMAT binary)
TRUNCATE c;
\copy c FROM 'c.bin' WITH (FORMAT binary)
SELECT count(*), sum(a), count(b) FROM c;
\copy c TO stdout
\copy c (b) TO pstdout
COPY c TO STDOUT WITH CSV;
\copy c FROM 'no-such-file'
\copy nowhere FROM 'c.csv'
\copy c FROM program 'echo 7; echo x'
\copy c FROM program 'printf "8\tacht\n9\tneun\n"'
\copy c TO program 'sort | tail -2'
SELECT 1; COPY c TO STDOUT; SELECT 2;

\echo == FETCH_COUNT
\set FETCH_COUNT 2
SELECT id, name FROM t ORDER BY id;
SELECT id FROM t ORDER BY id \g | cat
SELECT 10 / (1 - id) FROM t ORDER BY id;
UPDATE t SET amount = 1 WHERE id = 1 RETURNING id;
BEGIN;
SELECT id FROM t ORDER BY id;
COMMIT;
\set FETCH_COUNT 0

\echo == gdesc
SELECT id, name, amount, day, 1.5 AS n, 'x'::varchar(3) AS v, now() AS ts, NULL AS unknown FROM t \gdesc
SELECT nothing FROM t \gdesc
CREATE TABLE never (a integer) \gdesc
SELECT \gdesc

\echo == connections
SHOW client_encoding;
\encoding
SET client_encoding TO 'utf-8';
\encoding UTF8
\encoding no-such
SET application_name = 'psql ä';
SHOW application_name;
\c
SHOW application_name;
\c no-such-database
SELECT 'still there' AS v;
\c - nobody-there
\c ggs3db root
SELECT current_user, current_database();

\echo == timeouts
SET statement_timeout = '100ms';
SELECT pg_sleep(100);
RESET statement_timeout;
SHOW statement_timeout;

\echo == reading scripts
\i included.sql
\ir included.sql
SELECT :'included' AS v;
SELECT 1 AS not_ended
\r
\q
