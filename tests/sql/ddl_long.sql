-- CREATE, DROP and TRUNCATE TABLE in transactions of more than 256 KB: seen by itself, kept by COMMIT, taken back by ROLLBACK and ROLLBACK TO.
DROP TABLE IF EXISTS dl_digits, dl_a, dl_b, dl_c;
CREATE TABLE dl_digits (d integer);
INSERT INTO dl_digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE TABLE dl_a (id integer PRIMARY KEY, n bigint, t text);
INSERT INTO dl_a VALUES (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three');

-- made and filled
BEGIN;
CREATE TABLE dl_b (id integer PRIMARY KEY, n bigint, t text);
INSERT INTO dl_b SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d, a.d, 'row ' || b.d FROM dl_digits a, dl_digits b, dl_digits c, dl_digits e, dl_digits f WHERE f.d < 3;
SELECT count(*), sum(id), sum(n), max(t) FROM dl_b;
UPDATE dl_b SET n = n + 100 WHERE id >= 20000;
DELETE FROM dl_b WHERE id < 5000;
SELECT count(*), sum(id), sum(n), max(t) FROM dl_b;
SELECT * FROM dl_b WHERE id IN (4999, 5000, 29999) ORDER BY id;
SAVEPOINT s;
INSERT INTO dl_b VALUES (7000, 0, 'twice');
ROLLBACK TO s;
COMMIT;
SELECT count(*), sum(id), sum(n), max(t) FROM dl_b;
SELECT * FROM dl_b WHERE id = 29999;

-- rows, TRUNCATE, rows, back to before each
BEGIN;
INSERT INTO dl_a SELECT id + 100000, n, t FROM dl_b;
SAVEPOINT one;
TRUNCATE dl_a;
SELECT count(*) FROM dl_a;
INSERT INTO dl_a SELECT id, n, 'again' FROM dl_b WHERE id < 20000;
INSERT INTO dl_a VALUES (1, 10, 'ten');
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
SAVEPOINT two;
TRUNCATE dl_a;
INSERT INTO dl_a SELECT id, n, 'third' FROM dl_b;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
ROLLBACK TO two;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
UPDATE dl_a SET n = -1 WHERE id = 1;
ROLLBACK TO one;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
SELECT * FROM dl_a WHERE id < 100 ORDER BY id;
COMMIT;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;

-- emptied first, kept
BEGIN;
INSERT INTO dl_a VALUES (7, 7, 'dead');
TRUNCATE dl_a;
INSERT INTO dl_a VALUES (7, 7, 'alive');
INSERT INTO dl_a SELECT id, n, t FROM dl_b;
DELETE FROM dl_a WHERE id = 7;
INSERT INTO dl_a VALUES (7, 70, 'alive again');
COMMIT;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
SELECT * FROM dl_a WHERE id < 100;

-- dropped beside many rows; the name taken again
BEGIN;
CREATE TABLE dl_c (only text);
INSERT INTO dl_c SELECT t FROM dl_a;
SAVEPOINT s;
DROP TABLE dl_a;
SELECT * FROM dl_a;
ROLLBACK TO s;
SELECT count(*) FROM dl_a;
DROP TABLE dl_a;
CREATE TABLE dl_a (id bigint PRIMARY KEY);
INSERT INTO dl_a SELECT id FROM dl_b;
SELECT count(*), sum(id) FROM dl_a;
ROLLBACK;
SELECT count(*), sum(n), min(t), max(t) FROM dl_a;
SELECT * FROM dl_c;
BEGIN;
INSERT INTO dl_b SELECT id + 100000, n, t FROM dl_b;
DROP TABLE dl_a;
CREATE TABLE dl_a (id bigint PRIMARY KEY);
INSERT INTO dl_a SELECT id FROM dl_b;
COMMIT;
SELECT count(*), sum(id) FROM dl_a;
SELECT count(*), sum(id) FROM dl_b;

-- a key that is there twice takes back the statement alone
BEGIN;
TRUNCATE dl_b;
INSERT INTO dl_b SELECT id, 1, 'new' FROM dl_a;
SAVEPOINT s;
INSERT INTO dl_b SELECT id + 100000, 2, 'clash' FROM dl_a;
ROLLBACK TO s;
SELECT count(*), sum(n), min(t), max(t) FROM dl_b;
COMMIT;
SELECT count(*), sum(n), min(t), max(t) FROM dl_b;
DROP TABLE dl_a, dl_b, dl_digits;
