-- What a transaction sees of its own changes: scans, keys, joins, groups, texts, system columns, after every kind of statement and of taking back.
DROP TABLE IF EXISTS oc, oc2;
CREATE TABLE oc (id integer PRIMARY KEY, code text UNIQUE, n bigint, v numeric(12,2), d date);
CREATE TABLE oc2 (id bigint PRIMARY KEY, ref integer, note varchar(20) NOT NULL);
INSERT INTO oc VALUES (1, 'one', 10, 1.25, '2024-01-01'), (2, 'two', 20, 2.50, '2024-02-01'), (3, NULL, NULL, NULL, NULL), (4, 'four', 40, 4.75, '2024-04-01');
INSERT INTO oc2 VALUES (1, 1, 'note 1'), (2, 2, 'note 2'), (3, 3, 'note 0'), (4, 4, 'note 1'), (5, 0, 'note 2'), (6, 1, 'note 0');
INSERT INTO oc2 SELECT id + 6, ref, note FROM oc2;
INSERT INTO oc2 SELECT id + 12, (ref + 2) % 5, note FROM oc2;

-- rows that were inserted are there for the statements that follow
BEGIN;
INSERT INTO oc VALUES (5, 'five', 50, 5.00, '2024-05-01');
SELECT * FROM oc WHERE id = 5;
SELECT * FROM oc WHERE code = 'five';
SELECT * FROM oc ORDER BY id;
SELECT count(*), sum(n), min(code), max(v), count(DISTINCT d) FROM oc;
INSERT INTO oc VALUES (6, 'six', 60, 6.00, '2024-06-01'), (7, NULL, 70, 7.00, NULL);
SELECT id, n FROM oc WHERE n > 45 ORDER BY n DESC;
SELECT id FROM oc WHERE code LIKE '%i%' ORDER BY id;
SELECT id FROM oc WHERE code IS NULL ORDER BY id;
SELECT o.id, o.code, p.note FROM oc2 p JOIN oc o ON o.id = p.ref ORDER BY p.id;
SELECT p.id, o.code FROM oc2 p LEFT JOIN oc o ON o.id = p.ref + 3 ORDER BY p.id;
-- updates and deletes of them and of others
UPDATE oc SET n = n + 1 WHERE id IN (1, 5);
SELECT id, n FROM oc WHERE id IN (1, 5) ORDER BY id;
UPDATE oc SET code = 'FIVE' WHERE code = 'five';
SELECT id FROM oc WHERE code = 'five';
SELECT id FROM oc WHERE code = 'FIVE';
DELETE FROM oc WHERE id IN (2, 6);
SELECT * FROM oc ORDER BY id;
SELECT id FROM oc WHERE id = 2 OR id = 6;
UPDATE oc SET id = id + 100;
SELECT id, code, n FROM oc ORDER BY id;
SELECT id FROM oc WHERE id = 5;
SELECT id FROM oc WHERE id = 105;
-- keys that were freed, keys that are taken
INSERT INTO oc VALUES (5, 'six', 1, 1, NULL);
INSERT INTO oc VALUES (2, 'two', 2, 2, NULL);
SELECT id, code FROM oc ORDER BY id;
SAVEPOINT a;
INSERT INTO oc VALUES (5, 'again', 1, 1, NULL);
ROLLBACK TO a;
INSERT INTO oc VALUES (8, 'six', 1, 1, NULL);
ROLLBACK TO a;
INSERT INTO oc VALUES (104, 'x', 1, 1, NULL);
ROLLBACK TO a;
UPDATE oc SET code = 'one' WHERE id = 5;
ROLLBACK TO a;
SELECT id, code FROM oc ORDER BY id;
COMMIT;
SELECT * FROM oc ORDER BY id;
SELECT id FROM oc WHERE code = 'FIVE';

-- and all of it goes
BEGIN;
DELETE FROM oc;
SELECT count(*) FROM oc;
INSERT INTO oc VALUES (101, 'one', 0, 0, NULL);
SELECT * FROM oc;
SELECT * FROM oc WHERE id = 101;
ROLLBACK;
SELECT id, code, n FROM oc ORDER BY id;
BEGIN;
UPDATE oc SET n = 0, code = code || '!';
SELECT id, code, n FROM oc ORDER BY id;
UPDATE oc SET n = 1 WHERE code = 'one!';
SELECT sum(n) FROM oc;
ROLLBACK;
SELECT id, code, n FROM oc ORDER BY id;

-- a statement does not see what it does itself
BEGIN;
INSERT INTO oc2 SELECT id + 100, ref, note FROM oc2;
SELECT count(*) FROM oc2;
INSERT INTO oc2 SELECT id + 1000, ref, note FROM oc2;
SELECT count(*), count(DISTINCT note), sum(id) FROM oc2;
INSERT INTO oc2 SELECT id + 10000, ref + 1, 'copy ' || note FROM oc2 WHERE id > 100;
SELECT note, count(*) FROM oc2 GROUP BY note ORDER BY note;
UPDATE oc2 SET id = id + 100000 WHERE note LIKE 'copy%';
SELECT count(*) FROM oc2 WHERE id > 100000;
DELETE FROM oc2 WHERE id IN (SELECT id + 100 FROM oc2 WHERE id < 10);
SELECT id, note FROM oc2 ORDER BY id LIMIT 12;
SELECT id, note FROM oc2 ORDER BY id DESC LIMIT 3;
COMMIT;
SELECT count(*), sum(id) FROM oc2;

-- savepoints
BEGIN;
SAVEPOINT s1;
INSERT INTO oc2 VALUES (7, 7, 'seven');
SAVEPOINT s2;
UPDATE oc2 SET note = 'SEVEN' WHERE id = 7;
DELETE FROM oc2 WHERE id < 4;
SAVEPOINT s3;
INSERT INTO oc2 VALUES (8, 8, 'eight');
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;
ROLLBACK TO s3;
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;
INSERT INTO oc2 VALUES (8, 9, 'nine');
SELECT id, note FROM oc2 WHERE id = 8;
ROLLBACK TO s2;
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;
SELECT id, note FROM oc2 WHERE id = 8;
INSERT INTO oc2 VALUES (8, 10, 'ten');
RELEASE s2;
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;
ROLLBACK TO s1;
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;
INSERT INTO oc2 VALUES (7, 7, 'at last');
COMMIT;
SELECT id, note FROM oc2 WHERE id < 10 ORDER BY id;

-- a row keeps its ctid from one statement to the next
BEGIN;
INSERT INTO oc2 VALUES (9, 9, 'nine');
SELECT a.id FROM oc2 a JOIN oc2 b ON a.ctid = b.ctid WHERE b.id = 9;
SELECT id, tableoid = 'oc2'::regclass AS same FROM oc2 WHERE id = 9;
ROLLBACK;

-- COPY
BEGIN;
COPY oc2 FROM STDIN;
50	1	fifty
51	2	fifty-one
\.
SELECT id, note FROM oc2 WHERE id IN (50, 51) ORDER BY id;
COPY oc2 FROM STDIN;
52	1	x
53	2	y
\.
COPY (SELECT id, note FROM oc2 WHERE id BETWEEN 50 AND 53 ORDER BY id) TO STDOUT;
ROLLBACK;
SELECT id, note FROM oc2 WHERE id BETWEEN 50 AND 53 ORDER BY id;

-- several statements in one message
INSERT INTO oc2 VALUES (30, 1, 'a')\; UPDATE oc2 SET note = 'b' WHERE id = 30\; SELECT note FROM oc2 WHERE id = 30;
INSERT INTO oc2 VALUES (31, 1, 'a')\; SELECT note FROM oc2 WHERE id = 31\; INSERT INTO oc2 VALUES (31, 1, 'a');
SELECT id, note FROM oc2 WHERE id IN (30, 31);

-- NOT NULL and its detail over a row of the transaction
BEGIN;
INSERT INTO oc2 VALUES (40, 4, 'forty');
UPDATE oc2 SET note = NULL WHERE id = 40;
ROLLBACK;
DROP TABLE oc, oc2;
