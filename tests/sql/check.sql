-- CHECK constraints: in CREATE TABLE and ALTER TABLE, judged for INSERT, UPDATE, COPY, INSERT ... SELECT and rows that are there.
CREATE TABLE c (a int CHECK (a > 0), b text, CONSTRAINT short CHECK (length(b) < 5), CHECK (a < 100 OR b IS NULL));
INSERT INTO c VALUES (1, 'x'), (NULL, NULL), (2, NULL);
INSERT INTO c VALUES (0, 'x');
INSERT INTO c VALUES (1, 'xxxxx');
INSERT INTO c VALUES (500, 'x');
INSERT INTO c VALUES (500, NULL);
INSERT INTO c VALUES (3, 'y'), (4, 'zzzzz'), (-1, 'q');
INSERT INTO c (b) VALUES ('toolong');
INSERT INTO c SELECT g, 'r' FROM generate_series(1, 120) g;
INSERT INTO c SELECT g, 'r' FROM generate_series(1, 99) g;
INSERT INTO c SELECT g - 50, 'r' FROM generate_series(1, 99) g;
UPDATE c SET a = -a WHERE a = 7;
UPDATE c SET b = b || 'rrrr' WHERE a = 8;
UPDATE c SET a = 200 WHERE a = 9;
UPDATE c SET a = 200, b = NULL WHERE a = 9;
UPDATE c SET a = a WHERE a < 20;
SELECT count(*), sum(a), min(b), max(b) FROM c;
DELETE FROM c WHERE a > 2;
\set SHOW_CONTEXT never
COPY c FROM STDIN;
10	abc
-3	abc
\.
COPY c (a) FROM STDIN (FORMAT csv);
11
0
\.
COPY c FROM STDIN WHERE a > 0;
10	abc
-3	abc
\.
SELECT * FROM c ORDER BY a, b;
INSERT INTO c VALUES (12, 'z') RETURNING a, b;
INSERT INTO c VALUES (-12, 'z') RETURNING a / 0;
-- names
CREATE TABLE n (x int CHECK (x > 0) CHECK (x > 1), y int, CHECK (x > 2), CHECK (y > x), CHECK (y > x + 1), CHECK (true), CONSTRAINT n_x_check2 CHECK (x > 3));
INSERT INTO n VALUES (0, 10);
INSERT INTO n VALUES (1, 10);
INSERT INTO n VALUES (2, 10);
INSERT INTO n VALUES (3, 10);
INSERT INTO n VALUES (4, 3);
INSERT INTO n VALUES (4, 5);
INSERT INTO n VALUES (4, 6);
CREATE TABLE dup (x int CONSTRAINT k CHECK (x > 0), CONSTRAINT k CHECK (x > 1));
CREATE TABLE dup (x int CONSTRAINT k CHECK (x > 0), CONSTRAINT k UNIQUE (x));
CREATE TABLE other (x int CONSTRAINT other_x_check1 CHECK (x > 0), CHECK (x < 10));
CREATE TABLE other2 (x int CONSTRAINT other3_x_check CHECK (x > 0));
CREATE TABLE other3 (x int CHECK (x < 0));
INSERT INTO other3 VALUES (1);
-- what no CHECK may be
CREATE TABLE bad (a int CHECK (a));
CREATE TABLE bad (a int CHECK (a > (SELECT 1)));
CREATE TABLE bad (a int CHECK (EXISTS (SELECT 1)));
CREATE TABLE bad (a int CHECK (sum(a) > 0));
CREATE TABLE bad (a int CHECK (row_number() OVER () > 0));
CREATE TABLE bad (a int CHECK (b > 0));
CREATE TABLE bad (a int CHECK (c.a > 0));
CREATE TABLE bad (a int CHECK (generate_series(1, a) > 0));
CREATE TABLE bad (a int CHECK (a + 'x' > 0));
CREATE TABLE bad (a int, CHECK (a > 0) DEFERRABLE);
CREATE TABLE bad (a int, CHECK (a > 0) NOT DEFERRABLE);
CREATE TABLE ok (a int, CHECK (a > 0) NO INHERIT, CHECK (a > 1) NOT VALID);
INSERT INTO ok VALUES (1);
CREATE TABLE ok2 (a int, b int CHECK (b > a) NO INHERIT);
INSERT INTO ok2 VALUES (1, 1);
-- ALTER TABLE
CREATE TABLE t (id int PRIMARY KEY, v int, w text);
INSERT INTO t VALUES (1, 10, 'a'), (2, -5, 'b'), (3, NULL, 'c');
ALTER TABLE t ADD CHECK (v > 0);
ALTER TABLE t ADD CONSTRAINT pos CHECK (v > 0);
ALTER TABLE t ADD CONSTRAINT pos CHECK (v > 0) NOT VALID;
INSERT INTO t VALUES (4, -1, 'd');
UPDATE t SET w = 'bb' WHERE id = 2;
UPDATE t SET w = 'aa' WHERE id = 1;
UPDATE t SET v = 3 WHERE id = 3;
ALTER TABLE t VALIDATE CONSTRAINT pos;
UPDATE t SET v = 5 WHERE id = 2;
ALTER TABLE t VALIDATE CONSTRAINT pos;
ALTER TABLE t VALIDATE CONSTRAINT pos;
ALTER TABLE t VALIDATE CONSTRAINT nosuch;
ALTER TABLE t VALIDATE CONSTRAINT t_pkey;
ALTER TABLE t ADD CONSTRAINT pos CHECK (v > 1);
ALTER TABLE t ADD CONSTRAINT t_pkey CHECK (v > 1);
ALTER TABLE t ADD CONSTRAINT pos UNIQUE (v);
ALTER TABLE t RENAME CONSTRAINT pos TO positive;
INSERT INTO t VALUES (4, -1, 'd');
ALTER TABLE t RENAME CONSTRAINT nosuch TO x;
ALTER TABLE t RENAME CONSTRAINT positive TO t_pkey;
ALTER TABLE t RENAME CONSTRAINT t_pkey TO positive;
ALTER TABLE t RENAME COLUMN v TO "Value v";
INSERT INTO t VALUES (4, -1, 'd');
UPDATE t SET "Value v" = 0 WHERE id = 1;
ALTER TABLE t ADD CHECK ("Value v" < 1000), ADD CHECK (w <> 'zz'), ADD COLUMN u int DEFAULT 7 CHECK (u > 5);
INSERT INTO t VALUES (5, 5000, 'e');
INSERT INTO t VALUES (5, 5, 'zz');
INSERT INTO t VALUES (5, 5, 'z', 5);
INSERT INTO t VALUES (5, 5, 'z', 6);
ALTER TABLE t ADD COLUMN x int DEFAULT 3 CHECK (x > 3);
ALTER TABLE t ADD COLUMN x int CHECK (x > 3);
ALTER TABLE t ADD COLUMN IF NOT EXISTS x int CHECK (x > 300);
ALTER TABLE t DROP COLUMN id;
INSERT INTO t VALUES (5000, 'e');
INSERT INTO t VALUES (5, 'zz');
ALTER TABLE t DROP CONSTRAINT positive;
INSERT INTO t VALUES (-5, 'yy', 6, 3);
INSERT INTO t VALUES (-5, 'yy', 6, 4);
ALTER TABLE t DROP CONSTRAINT positive;
ALTER TABLE t DROP CONSTRAINT IF EXISTS positive;
ALTER TABLE t DROP COLUMN w;
INSERT INTO t VALUES (5000, 6);
SELECT * FROM t ORDER BY 1, 2;
ALTER TABLE t RENAME TO t2;
INSERT INTO t2 VALUES (5000, 6);
ALTER TABLE t2 ADD CHECK (t2.u > 2), ADD CHECK (sum(u) > 1);
ALTER TABLE t2 ADD CHECK (nosuch > 2);
ALTER TABLE t2 ADD CHECK (u);
ALTER TABLE t2 ADD CHECK (u > (SELECT 1));
-- several columns: dropping one drops the check
CREATE TABLE m (a int, b int, c int, CHECK (a < b), CHECK (b < c), CHECK (c < 100));
ALTER TABLE m DROP COLUMN a;
INSERT INTO m VALUES (2, 1);
INSERT INTO m VALUES (2, 100);
ALTER TABLE m DROP COLUMN b;
INSERT INTO m VALUES (1);
INSERT INTO m VALUES (100);
-- expressions of all kinds come back as they were
CREATE TABLE e (i int, l bigint, n numeric(8,2), f float8, t text, v varchar(10), d date, z timestamptz, j jsonb, ar int[], q bool, iv interval, u uuid, ti time, by bytea,
  CONSTRAINT c01 CHECK (i BETWEEN 1 AND 10 OR i IS NULL),
  CONSTRAINT c02 CHECK (t IN ('a', 'b', 'it''s', E'back\\slash')),
  CONSTRAINT c03 CHECK (v IN ('x', 'y')),
  CONSTRAINT c04 CHECK (v = 'x' OR v LIKE 'y%' OR v ILIKE 'Z_'),
  CONSTRAINT c05 CHECK (n > 1.5 AND n < 1e6 AND n <> -2),
  CONSTRAINT c06 CHECK (l > -5 AND l < 9999999999),
  CONSTRAINT c07 CHECK (f > 0.5 AND f < 'infinity'),
  CONSTRAINT c08 CHECK (d >= '2020-01-01' AND d < DATE '2030-01-01' + 1),
  CONSTRAINT c09 CHECK (z > '2020-01-01 12:00:00+02'),
  CONSTRAINT c10 CHECK (NOT (i = 3 AND q)),
  CONSTRAINT c11 CHECK (CASE WHEN i > 5 THEN t = 'a' WHEN i = 4 THEN NULL ELSE t <> 'a' END),
  CONSTRAINT c12 CHECK (CASE i WHEN 1 THEN true ELSE i < 100 END),
  CONSTRAINT c13 CHECK (coalesce(i, 5) > 0 AND nullif(i, 3) < 50 AND greatest(i, 1) < 60 AND least(i, 1) > -60),
  CONSTRAINT c14 CHECK (upper(t) <> lower(t) OR length(t) = 1),
  CONSTRAINT c15 CHECK (t IS DISTINCT FROM v AND i IS NOT DISTINCT FROM i),
  CONSTRAINT c16 CHECK (q IS NOT FALSE OR q IS UNKNOWN),
  CONSTRAINT c17 CHECK (i = ANY (ar) OR ar[1] = 0 OR array_length(ar, 1) = 2),
  CONSTRAINT c18 CHECK (extract(year FROM d) > 2000),
  CONSTRAINT c19 CHECK (substring(t FROM 1 FOR 1) <> 'q' AND position('w' IN t) = 0 AND trim(t) = t),
  CONSTRAINT c20 CHECK (iv > interval '1 day' AND iv < '1 year 2 mons'),
  CONSTRAINT c21 CHECK (u <> '00000000-0000-0000-0000-000000000000'),
  CONSTRAINT c22 CHECK (ti < '12:00'),
  CONSTRAINT c23 CHECK (by <> '\xdead'),
  CONSTRAINT c24 CHECK (i::text || '.' || l::varchar(3) <> '1.2'),
  CONSTRAINT c25 CHECK (i + 1 > 1 AND -i < 0 AND i % 2 < 2 AND i * 2 / 2 = i AND @ i = i),
  CONSTRAINT c26 CHECK (round(n, 1) > 1 AND cast(n AS int) > 1),
  CONSTRAINT c27 CHECK ((i, l) < (100, 1000)),
  CONSTRAINT c28 CHECK (t NOT IN ('m', 'n') AND i NOT IN (77, 78) AND t NOT LIKE '%o%'));
INSERT INTO e VALUES (1, 5, 3.5, 1, 'b', 'x', '2024-05-05', '2024-05-05', '{}', '{1,2}', true, '5 days', '00000000-0000-0000-0000-000000000001', '11:00', '\x00');
INSERT INTO e VALUES (11, 5, 3.5, 1, 'b', 'x', '2024-05-05', '2024-05-05', '{}', '{1,2}', true, '5 days', '00000000-0000-0000-0000-000000000001', '11:00', '\x00');
INSERT INTO e (t) VALUES ('c');
INSERT INTO e (t) VALUES ('it''s');
INSERT INTO e (t) VALUES (E'back\\slash');
INSERT INTO e (v) VALUES ('z');
INSERT INTO e (n) VALUES (1.5);
INSERT INTO e (n) VALUES (1.51);
INSERT INTO e (l) VALUES (-5);
INSERT INTO e (f) VALUES ('infinity');
INSERT INTO e (d) VALUES ('2019-12-31');
INSERT INTO e (z) VALUES ('2020-01-01 09:00:00+00');
INSERT INTO e (z) VALUES ('2020-01-01 11:00:00+00');
INSERT INTO e (i, q) VALUES (3, true);
INSERT INTO e (i, t) VALUES (6, 'b');
INSERT INTO e (i) VALUES (4);
INSERT INTO e (q) VALUES (false);
INSERT INTO e (i, ar) VALUES (4, '{1,2,3}');
INSERT INTO e (t, v) VALUES ('a', 'a');
INSERT INTO e (iv) VALUES ('2 years');
INSERT INTO e (u) VALUES ('00000000-0000-0000-0000-000000000000');
INSERT INTO e (ti) VALUES ('12:00');
INSERT INTO e ("by") VALUES ('\xdead');
INSERT INTO e (i, l) VALUES (1, 2);
INSERT INTO e (n) VALUES (1.6);
SELECT count(*) FROM e;
ALTER TABLE e RENAME COLUMN i TO ii;
ALTER TABLE e RENAME COLUMN t TO "select";
ALTER TABLE e RENAME COLUMN v TO "V v";
INSERT INTO e (ii) VALUES (11);
INSERT INTO e ("select") VALUES ('c');
INSERT INTO e ("V v") VALUES ('z');
INSERT INTO e VALUES (1, 5, 3.5, 1, 'b', 'x', '2024-05-05', '2024-05-05', '{}', '{1,2}', true, '5 days', '00000000-0000-0000-0000-000000000001', '11:00', '\x00');
CREATE TABLE em (t text CHECK (t <> '' AND '日本' > t), "naïve" int CHECK ("naïve" > 0));
INSERT INTO em VALUES ('');
INSERT INTO em VALUES ('語');
INSERT INTO em VALUES ('a', 0);
-- blocks, savepoints, rollback
BEGIN;
CREATE TABLE bl (a int CHECK (a > 0));
INSERT INTO bl VALUES (1);
SAVEPOINT s;
INSERT INTO bl VALUES (0);
ROLLBACK TO s;
ALTER TABLE bl ADD CHECK (a < 10);
SAVEPOINT s2;
INSERT INTO bl VALUES (10);
ROLLBACK TO s2;
ALTER TABLE bl DROP CONSTRAINT bl_a_check;
INSERT INTO bl VALUES (-1);
SAVEPOINT s3;
ALTER TABLE bl ADD CHECK (a > 0);
ROLLBACK TO s3;
ALTER TABLE bl ADD CHECK (a > 0) NOT VALID;
COMMIT;
INSERT INTO bl VALUES (-2);
INSERT INTO bl VALUES (11);
BEGIN;
ALTER TABLE bl DROP CONSTRAINT bl_a_check1;
INSERT INTO bl VALUES (11);
ROLLBACK;
INSERT INTO bl VALUES (11);
SELECT * FROM bl ORDER BY a;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM bl;
ALTER TABLE bl ADD CHECK (a < 5);
COMMIT;
INSERT INTO bl VALUES (6);
TRUNCATE bl;
INSERT INTO bl VALUES (6);
PREPARE ins AS INSERT INTO bl VALUES ($1);
EXECUTE ins (3);
EXECUTE ins (7);
ALTER TABLE bl ADD CONSTRAINT odd CHECK (a % 2 = 1);
EXECUTE ins (2);
EXECUTE ins (1);
SELECT * FROM bl ORDER BY a;
SET client_min_messages = warning;
DROP TABLE IF EXISTS c, n, dup, other, other2, other3, bad, ok, ok2, t, m, e, em, bl, t2;
