-- Catalog changes in transaction blocks: tables made, emptied and dropped beside rows, savepoints, errors.
DROP TABLE IF EXISTS db_a, db_b, db_c;
CREATE TABLE db_a (id integer PRIMARY KEY, t text);
INSERT INTO db_a VALUES (1, 'one'), (2, 'two'), (3, NULL);

-- made and seen, taken back
BEGIN;
CREATE TABLE db_b (id integer PRIMARY KEY, t text NOT NULL, n numeric(10,2));
INSERT INTO db_b VALUES (1, 'eins', 1.5), (2, 'zwei', 2.25);
INSERT INTO db_b SELECT id + 10, 'x' || id, id FROM db_a;
SELECT * FROM db_b ORDER BY id;
UPDATE db_b SET n = n * 2 WHERE id < 12;
DELETE FROM db_b WHERE id = 2;
SELECT b.id, b.n, a.t FROM db_b b LEFT JOIN db_a a ON a.id + 10 = b.id ORDER BY b.id;
ROLLBACK;
SELECT * FROM db_b;

-- made and kept
BEGIN;
CREATE TABLE db_b (id integer PRIMARY KEY, t text);
CREATE TABLE IF NOT EXISTS db_b (other integer);
INSERT INTO db_b VALUES (1, 'a');
SAVEPOINT s;
INSERT INTO db_b VALUES (1, 'again');
ROLLBACK TO s;
CREATE TABLE db_b (id integer);
ROLLBACK TO s;
SELECT * FROM db_b;
COMMIT;
SELECT * FROM db_b;
INSERT INTO db_b VALUES (1, 'still');

-- emptied
BEGIN;
INSERT INTO db_a VALUES (4, 'four');
TRUNCATE db_a;
SELECT count(*) FROM db_a;
INSERT INTO db_a VALUES (1, 'new'), (4, 'new four');
UPDATE db_a SET t = t || '!' WHERE id = 4;
SELECT * FROM db_a ORDER BY id;
SELECT t FROM db_a WHERE id = 2;
SELECT t FROM db_a WHERE id = 4;
SELECT t, count(*) FROM db_a WHERE t LIKE 'new%' GROUP BY t ORDER BY t;
ROLLBACK;
SELECT * FROM db_a ORDER BY id;
BEGIN;
INSERT INTO db_a VALUES (4, 'four');
SAVEPOINT one;
TRUNCATE db_a;
INSERT INTO db_a VALUES (1, 'after');
SAVEPOINT two;
TRUNCATE TABLE db_a;
INSERT INTO db_a VALUES (1, 'after both');
SELECT * FROM db_a ORDER BY id;
ROLLBACK TO two;
SELECT * FROM db_a ORDER BY id;
ROLLBACK TO one;
SELECT * FROM db_a ORDER BY id;
INSERT INTO db_a VALUES (4, 'dup');
ROLLBACK TO one;
TRUNCATE db_a;
INSERT INTO db_a SELECT i, 'bulk' FROM (VALUES (1), (2), (7)) v(i);
COMMIT;
SELECT * FROM db_a ORDER BY id;

-- dropped
BEGIN;
INSERT INTO db_a VALUES (8, 'eight');
DROP TABLE db_a;
SELECT * FROM db_a;
ROLLBACK;
BEGIN;
DROP TABLE db_a;
CREATE TABLE db_a (only text);
INSERT INTO db_a VALUES ('this');
SELECT * FROM db_a;
ROLLBACK;
SELECT count(*) FROM db_a;
BEGIN;
SAVEPOINT s;
DROP TABLE db_a, db_b;
DROP TABLE IF EXISTS db_a;
ROLLBACK TO s;
SELECT count(*) FROM db_a;
DROP TABLE db_b;
CREATE TABLE db_b (n integer);
INSERT INTO db_b VALUES (42);
COMMIT;
SELECT * FROM db_b;
SELECT count(*) FROM db_a;

-- made, emptied and dropped at once
BEGIN;
CREATE TABLE db_c (id integer PRIMARY KEY);
INSERT INTO db_c VALUES (1);
TRUNCATE db_c;
INSERT INTO db_c VALUES (1), (2);
TRUNCATE db_c;
INSERT INTO db_c VALUES (3);
SELECT * FROM db_c;
DROP TABLE db_c;
CREATE TABLE db_c (id bigint);
INSERT INTO db_c VALUES (5);
COMMIT;
SELECT * FROM db_c;

-- a COPY into what was just made, several tables
BEGIN;
DROP TABLE db_b, db_c;
CREATE TABLE db_c (id integer, t text);
COPY db_c FROM stdin;
1	a
2	b
\.
CREATE TABLE db_b (id integer, c text);
INSERT INTO db_b SELECT id, upper(t) FROM db_c;
COMMIT;
SELECT * FROM db_b ORDER BY id;

-- one Query of several statements is one transaction
CREATE TABLE db_d (id integer)\; INSERT INTO db_d VALUES (1)\; SELECT 1/0;
SELECT * FROM db_d;
CREATE TABLE db_d (id integer)\; INSERT INTO db_d VALUES (1)\; SELECT * FROM db_d;
DROP TABLE db_a, db_b, db_c, db_d;
-- what was read of a table that the transaction made and took back is nothing that others could have changed
CREATE TABLE kept_after (a int);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SAVEPOINT s;
CREATE TABLE taken_back (a int PRIMARY KEY);
SELECT count(*) FROM taken_back;
SELECT a FROM taken_back WHERE a = 1;
ROLLBACK TO s;
INSERT INTO kept_after VALUES (1);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE TABLE dropped_again (a int PRIMARY KEY);
INSERT INTO dropped_again VALUES (1), (2);
SELECT count(*) FROM dropped_again;
SELECT a FROM dropped_again WHERE a = 3;
DROP TABLE dropped_again;
INSERT INTO kept_after VALUES (2);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SAVEPOINT s;
CREATE TABLE taken_back AS SELECT 1 AS a;
SELECT count(*) FROM taken_back;
ROLLBACK TO s;
SAVEPOINT s;
TRUNCATE kept_after;
SELECT count(*) FROM kept_after;
ROLLBACK TO s;
INSERT INTO kept_after SELECT count(*) FROM kept_after;
COMMIT;
SELECT * FROM kept_after ORDER BY a;
DROP TABLE kept_after;
