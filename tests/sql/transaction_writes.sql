-- What transactions write: their own view of it, COMMIT, ROLLBACK, savepoints, implicit transactions.
DROP TABLE IF EXISTS tw;
CREATE TABLE tw (id integer PRIMARY KEY, t text, n integer);
INSERT INTO tw VALUES (1, 'one', 1), (2, 'two', 2), (3, NULL, NULL);

-- seen by itself, kept by COMMIT
BEGIN;
INSERT INTO tw VALUES (4, 'four', 4);
INSERT INTO tw VALUES (5, 'five', 5), (6, 'two', 6);
SELECT * FROM tw ORDER BY id;
UPDATE tw SET n = n + 10 WHERE id IN (1, 4);
SELECT id, n FROM tw WHERE id = 4;
SELECT id, n FROM tw WHERE id = 1;
DELETE FROM tw WHERE id = 5;
DELETE FROM tw WHERE id = 2;
SELECT count(*), sum(n), min(t), max(t) FROM tw;
SELECT t, count(*) FROM tw GROUP BY t ORDER BY t;
COMMIT;
SELECT * FROM tw ORDER BY id;

-- undone by ROLLBACK and by an error
BEGIN;
INSERT INTO tw VALUES (7, 'seven', 7);
UPDATE tw SET t = 'changed';
DELETE FROM tw WHERE id = 1;
SELECT * FROM tw ORDER BY id;
ROLLBACK;
SELECT * FROM tw ORDER BY id;
BEGIN;
INSERT INTO tw VALUES (7, 'seven', 7);
INSERT INTO tw VALUES (1, 'again', 7);
INSERT INTO tw VALUES (8, 'eight', 7);
COMMIT;
SELECT * FROM tw ORDER BY id;

-- keys
BEGIN;
INSERT INTO tw VALUES (10, 'ten', 10);
INSERT INTO tw VALUES (10, 'ten', 10);
ROLLBACK;
BEGIN;
DELETE FROM tw WHERE id = 1;
INSERT INTO tw VALUES (1, 'new one', 1);
DELETE FROM tw WHERE id = 1;
INSERT INTO tw VALUES (1, 'newer one', 1);
UPDATE tw SET id = 100 WHERE id = 1;
INSERT INTO tw VALUES (1, 'newest one', 1);
SELECT * FROM tw WHERE id IN (1, 100) ORDER BY id;
UPDATE tw SET id = 1 WHERE id = 100;
ROLLBACK;
BEGIN;
UPDATE tw SET id = 20 WHERE id = 1;
UPDATE tw SET id = 1 WHERE id = 20;
UPDATE tw SET t = 'one' WHERE id = 1;
COMMIT;
SELECT * FROM tw ORDER BY id;
BEGIN;
INSERT INTO tw SELECT id + 50, t, n FROM tw;
UPDATE tw SET n = n + 1 WHERE id > 50;
DELETE FROM tw WHERE id > 50 AND t IS NULL;
SELECT * FROM tw ORDER BY id;
INSERT INTO tw SELECT id + 50, t, n FROM tw WHERE id = 4;
ROLLBACK;

-- savepoints
BEGIN;
INSERT INTO tw VALUES (30, 'before', 0);
SAVEPOINT a;
INSERT INTO tw VALUES (31, 'a', 0);
UPDATE tw SET t = 'in a' WHERE id = 30;
SAVEPOINT b;
DELETE FROM tw WHERE id >= 30;
INSERT INTO tw VALUES (32, 'b', 0);
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
ROLLBACK TO b;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
ROLLBACK TO b;
INSERT INTO tw VALUES (31, 'clash', 0);
ROLLBACK TO b;
INSERT INTO tw VALUES (33, 'b', 0);
RELEASE b;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
ROLLBACK TO a;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
INSERT INTO tw VALUES (31, 'a again', 0);
SAVEPOINT a;
INSERT INTO tw VALUES (34, 'inner a', 0);
ROLLBACK TO a;
RELEASE a;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
COMMIT;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
BEGIN;
SAVEPOINT a;
DELETE FROM tw WHERE id >= 30;
SAVEPOINT b;
SELECT 1/0;
COMMIT;
SELECT * FROM tw WHERE id >= 30 ORDER BY id;
BEGIN;
SAVEPOINT a;
DELETE FROM tw WHERE id >= 30;
RELEASE a;
COMMIT;
SELECT * FROM tw ORDER BY id;

-- AND CHAIN
BEGIN;
INSERT INTO tw VALUES (40, 'chain', 1);
COMMIT AND CHAIN;
INSERT INTO tw VALUES (41, 'chain', 2);
ROLLBACK AND CHAIN;
SELECT * FROM tw WHERE id >= 40 ORDER BY id;
DELETE FROM tw WHERE id = 40;
COMMIT;
SELECT * FROM tw WHERE id >= 40 ORDER BY id;

-- several statements in one message
INSERT INTO tw VALUES (50, 'a', 1)\; INSERT INTO tw VALUES (51, 'b', 1);
INSERT INTO tw VALUES (52, 'a', 1)\; INSERT INTO tw VALUES (50, 'b', 1);
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
INSERT INTO tw VALUES (52, 'a', 1)\; SELECT id FROM tw WHERE id >= 50 ORDER BY id\; SELECT 1/0;
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
INSERT INTO tw VALUES (52, 'a', 1)\; COMMIT\; INSERT INTO tw VALUES (53, 'b', 1)\; SELECT 1/0;
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
INSERT INTO tw VALUES (53, 'a', 1)\; ROLLBACK\; INSERT INTO tw VALUES (54, 'b', 1);
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
BEGIN\; INSERT INTO tw VALUES (55, 'a', 1)\; COMMIT\; INSERT INTO tw VALUES (56, 'b', 1)\; SELECT 1/0;
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
INSERT INTO tw VALUES (57, 'a', 1)\; BEGIN\; INSERT INTO tw VALUES (58, 'a', 1);
ROLLBACK;
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
BEGIN\; DELETE FROM tw WHERE id >= 50\; SAVEPOINT a\; INSERT INTO tw VALUES (1);
ROLLBACK TO a\; COMMIT;
SELECT id FROM tw WHERE id >= 50 ORDER BY id;
SET application_name = 'kept'\; INSERT INTO tw VALUES (1);
SHOW application_name;

-- COPY
BEGIN;
COPY tw FROM STDIN;
60	copied	1
61	copied	2
\.
SELECT * FROM tw WHERE id >= 60 ORDER BY id;
SAVEPOINT a;
COPY tw FROM STDIN;
x	bad	2
\.
ROLLBACK TO a;
SELECT count(*) FROM tw WHERE id >= 60;
COMMIT;
SELECT * FROM tw WHERE id >= 60 ORDER BY id;
DELETE FROM tw WHERE id >= 60;

-- levels
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM tw;
INSERT INTO tw VALUES (70, 'rr', 1);
UPDATE tw SET n = 0 WHERE id = 70;
SELECT * FROM tw WHERE id = 70;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM tw;
DELETE FROM tw WHERE id = 70;
SELECT count(*) FROM tw;
COMMIT;
SET default_transaction_isolation = 'serializable';
INSERT INTO tw VALUES (71, 's', 1);
UPDATE tw SET n = 2 WHERE id = 71;
INSERT INTO tw VALUES (72, 's', 1)\; DELETE FROM tw WHERE id = 71;
RESET default_transaction_isolation;
SELECT * FROM tw ORDER BY id;
DROP TABLE tw;

-- definitions among several statements of one message
CREATE TABLE tw3 (a integer)\; INSERT INTO tw3 VALUES (1)\; SELECT 1/0;
SELECT * FROM tw3;
CREATE TABLE tw3 (a integer)\; INSERT INTO tw3 VALUES (1);
SELECT * FROM tw3;
TRUNCATE tw3\; INSERT INTO tw3 VALUES (2)\; SELECT 1/0;
SELECT * FROM tw3;
DROP TABLE tw3\; SELECT * FROM tw3;
DROP TABLE tw3\; CREATE TABLE tw3 (b text)\; SELECT * FROM tw3;
DROP TABLE tw3;
