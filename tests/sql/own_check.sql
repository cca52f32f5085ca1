-- CHECK DATABASE in a transaction looks at what is published; the transaction's own changes are no fault of it.
DROP TABLE IF EXISTS own_check, own_check2;
CREATE TABLE own_check (id integer PRIMARY KEY, v text);
INSERT INTO own_check VALUES (1, 'one'), (2, 'two');
BEGIN;
INSERT INTO own_check VALUES (3, 'three');
UPDATE own_check SET v = 'TWO' WHERE id = 2;
CHECK DATABASE;
CREATE TABLE own_check2 (id integer PRIMARY KEY);
INSERT INTO own_check2 SELECT id FROM own_check;
CHECK DATABASE;
TRUNCATE own_check;
CHECK DATABASE;
SELECT count(*) FROM own_check2;
DROP TABLE own_check;
CHECK DATABASE;
COMMIT;
CHECK DATABASE;
DROP TABLE own_check2;
