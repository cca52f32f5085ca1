-- PREPARE, EXECUTE, DEALLOCATE: types, inference, arguments, errors, what they meet in transactions.
DROP TABLE IF EXISTS prep;
CREATE TABLE prep (id integer PRIMARY KEY, name text, price numeric(10,2), day date);
INSERT INTO prep VALUES (1, 'one', 1.10, '2024-01-01'), (2, 'two', 2.20, '2024-01-02'), (3, NULL, NULL, NULL);

-- every kind of statement
PREPARE sel AS SELECT * FROM prep ORDER BY id;
EXECUTE sel;
PREPARE vals AS VALUES (1, 'a'), (2, 'b');
EXECUTE vals;
PREPARE w AS WITH x AS (SELECT id FROM prep) SELECT count(*) FROM x;
EXECUTE w;
PREPARE par AS (SELECT 1 UNION SELECT 2) ORDER BY 1;
EXECUTE par;
PREPARE tab AS TABLE prep;
EXECUTE tab;
PREPARE ins (int, text) AS INSERT INTO prep VALUES ($1, $2);
EXECUTE ins (4, 'four');
EXECUTE ins (4, 'four');
PREPARE insr AS INSERT INTO prep (id, price) VALUES ($1, $2) RETURNING id, price;
EXECUTE insr (5, 5.555);
EXECUTE insr ('6', '6.5');
PREPARE upd AS UPDATE prep SET name = $2 WHERE id = $1;
EXECUTE upd (4, 'vier');
EXECUTE upd (400, 'vier');
PREPARE del AS DELETE FROM prep WHERE id >= $1 RETURNING id;
EXECUTE del (5);
EXECUTE sel;
PREPARE bad AS CREATE TABLE x (i int);
PREPARE bad AS SET application_name = 'x';
PREPARE bad AS;
PREPARE bad SELECT 1;
PREPARE bad () AS SELECT 1;
PREPARE AS SELECT 1;
EXECUTE;
EXECUTE sel ();

-- types
PREPARE t1 (integer, varchar(3), numeric(4,1), timestamp with time zone, double precision) AS SELECT $1, $2, $3, $4 IS NULL, $5;
EXECUTE t1 (1.6, 'abcdef', 1.256, NULL, 3);
EXECUTE t1 ('12', 12, '12', '2024-01-01 00:00:00+00', '1e10');
PREPARE t2 (nosuch) AS SELECT $1;
PREPARE t2 (int, unknown) AS SELECT $1 + 1, $2 || 'x';
EXECUTE t2 (1, 'y');
PREPARE t3 AS SELECT $1;
EXECUTE t3 ('text');
PREPARE t4 AS SELECT $2 + 1;
PREPARE t5 AS SELECT $1 + 1, $1 || 'x';
PREPARE t6 (int) AS SELECT $2::text, $1;
EXECUTE t6 (1, 'two');
EXECUTE t6 (1);
EXECUTE t6 (1, 2, 3);
EXECUTE t6;
EXECUTE sel (1);
PREPARE t7 AS SELECT id FROM prep WHERE id = $1 AND day > $2 AND price < $3 LIMIT $4;
EXECUTE t7 (2, '2024-01-01', 10, 1);
EXECUTE t7 (2, 'not a date', 10, 1);
EXECUTE t7 (2, 7, 10, 1);
PREPARE t8 AS SELECT nosuch FROM prep;
PREPARE t8 AS SELECT * FROM nosuch;
PREPARE t9 (int, int) AS SELECT 1;
EXECUTE t9 (1, 2);
EXECUTE t9 (1);

-- arguments
PREPARE a (int, text) AS SELECT $1, $2;
EXECUTE a (1 + 2 * 3, upper('x') || lower('Y'));
EXECUTE a (NULL, NULL);
EXECUTE a (length('abc'), CASE WHEN true THEN 'yes' END);
EXECUTE a (1.5, 'x');
EXECUTE a (2.5, 'x');
EXECUTE a ('x', 'y');
EXECUTE a (1 / 0, 'y');
EXECUTE a (99999999999, 'y');
EXECUTE a ((SELECT 1), 'y');
EXECUTE a (count(*), 'y');
EXECUTE a (row_number() OVER (), 'y');
EXECUTE a (id, 'y');
EXECUTE a (prep.id, 'y');
EXECUTE a ($1, 'y');
EXECUTE a (true, 'y');
EXECUTE a (date '2024-01-01', 'y');
EXECUTE a (1, date '2024-01-01');
EXECUTE a (1, 17);
EXECUTE a (DEFAULT, 1);
EXECUTE a (nosuch(1), 1);
EXECUTE a (*);

-- names
EXECUTE nosuch;
EXECUTE nosuch (1, 2);
DEALLOCATE nosuch;
PREPARE sel AS SELECT 1;
PREPARE sel AS SELECT nosuch;
PREPARE "Sel" AS SELECT 'other case';
EXECUTE "Sel";
EXECUTE SEL;
PREPARE "all" AS SELECT 'all';
EXECUTE "all";
DEALLOCATE "all";
EXECUTE "all";
PREPARE prepare AS SELECT 'prepare';
EXECUTE prepare;
DEALLOCATE prepare;
PREPARE prepare AS SELECT 'prepare';
DEALLOCATE PREPARE prepare;
EXECUTE prepare;
PREPARE transaction AS SELECT 'transaction';
EXECUTE transaction;
DEALLOCATE "Sel";
DEALLOCATE "Sel";
DEALLOCATE PREPARE ALL;
EXECUTE sel;
DEALLOCATE ALL;

-- transactions: prepared statements are not undone
BEGIN;
PREPARE p AS SELECT 'kept';
ROLLBACK;
EXECUTE p;
BEGIN;
DEALLOCATE p;
ROLLBACK;
EXECUTE p;
BEGIN;
PREPARE p AS SELECT 'in failed';
SELECT 1 / 0;
EXECUTE p;
PREPARE q AS SELECT 1;
DEALLOCATE p;
ROLLBACK;
EXECUTE p;
DEALLOCATE p;
BEGIN READ ONLY;
PREPARE p AS INSERT INTO prep VALUES (100);
EXECUTE p;
ROLLBACK;
EXECUTE p;
DELETE FROM prep WHERE id = 100;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT a;
EXECUTE p;
ROLLBACK TO a;
EXECUTE p;
COMMIT;
SELECT id FROM prep ORDER BY id;
DELETE FROM prep WHERE id = 100;
DEALLOCATE p;

-- what a statement refers to changes
CREATE TABLE prep2 (a int);
INSERT INTO prep2 VALUES (1);
PREPARE p AS SELECT * FROM prep2;
PREPARE q AS SELECT count(*) FROM prep2;
EXECUTE p;
DROP TABLE prep2;
EXECUTE p;
CREATE TABLE prep2 (a int);
EXECUTE p;
EXECUTE q;
DROP TABLE prep2;
CREATE TABLE prep2 (a int, b text);
EXECUTE p;
EXECUTE q;
DROP TABLE prep2;
CREATE TABLE prep2 (b int);
EXECUTE p;
DEALLOCATE p;
DROP TABLE prep2;

-- values at execution
PREPARE p AS SELECT CURRENT_TIMESTAMP = now();
BEGIN;
EXECUTE p;
COMMIT;
DEALLOCATE p;
PREPARE p (timestamptz) AS SELECT $1;
SET TIME ZONE 'UTC';
EXECUTE p ('2024-01-01 00:00:00');
SET TIME ZONE '+03';
EXECUTE p ('2024-01-01 00:00:00');
RESET TIME ZONE;
DEALLOCATE p;

-- CREATE TABLE AS is not there; a statement that locks
PREPARE p AS SELECT id FROM prep WHERE id = $1 FOR UPDATE;
BEGIN;
EXECUTE p (1);
COMMIT;
EXECUTE p (1);
DEALLOCATE p;

-- recursion is not a problem
PREPARE p AS SELECT 1;
EXECUTE p; EXECUTE p; EXECUTE p;
SELECT 1 \; PREPARE inside AS SELECT $1::int + 1 \; EXECUTE inside (41) ;
EXECUTE inside (1);
PREPARE twice AS SELECT 1 \; PREPARE twice AS SELECT 2;
EXECUTE twice;

-- the view
DEALLOCATE ALL;
SELECT name, statement, from_sql FROM pg_prepared_statements;
PREPARE v1 (int, text) AS SELECT $1, $2;
PREPARE v2 AS INSERT INTO prep VALUES ($1);
SELECT name, statement, from_sql FROM pg_prepared_statements ORDER BY name;
SELECT prepare_time <= now() FROM pg_prepared_statements;
SELECT count(*) FROM pg_prepared_statements WHERE name = 'v1';
SELECT 1 \; PREPARE v3 AS SELECT 3;
SELECT statement FROM pg_prepared_statements WHERE name = 'v3';
DEALLOCATE v2;
SELECT name FROM pg_prepared_statements ORDER BY name;

-- DISCARD
DISCARD PLANS;
EXECUTE v3;
DISCARD SEQUENCES;
DISCARD TEMP;
DISCARD TEMPORARY;
DISCARD nonsense;
BEGIN;
DISCARD PLANS;
DISCARD ALL;
ROLLBACK;
DISCARD ALL;
EXECUTE v3;
SELECT count(*) FROM pg_prepared_statements;
UNLISTEN *;
UNLISTEN x;
SELECT pg_advisory_unlock_all() \; UNLISTEN * \; RESET ALL;
SET SESSION AUTHORIZATION DEFAULT;
RESET SESSION AUTHORIZATION;
SET ROLE NONE;
RESET ROLE;
SET ROLE DEFAULT;
DROP TABLE prep;
