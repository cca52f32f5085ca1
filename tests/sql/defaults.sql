DROP TABLE IF EXISTS de, dz;
CREATE TABLE de (id integer PRIMARY KEY DEFAULT 7, t text DEFAULT 'none' NOT NULL, n numeric(8,2) DEFAULT 1.005, d date DEFAULT '2024-01-01', v varchar(5) DEFAULT upper('abc'), b boolean DEFAULT true, x integer DEFAULT NULL, y integer, z bigint DEFAULT 2 + 3 * 4, s smallint DEFAULT -1);
INSERT INTO de DEFAULT VALUES;
INSERT INTO de (id) VALUES (1), (2);
INSERT INTO de (id, t, y) VALUES (3, DEFAULT, 5), (4, 'x', DEFAULT), (DEFAULT, 'seven', 1);
INSERT INTO de (id, t, y) VALUES (3, DEFAULT, 5), (4, 'x', DEFAULT);
INSERT INTO de VALUES (10, 'only');
INSERT INTO de (y, id) SELECT id, id + 20 FROM de WHERE id < 3 ORDER BY id DESC;
INSERT INTO de (id) SELECT DISTINCT id + 30 FROM de WHERE id IN (1, 2);
INSERT INTO de (id, y) SELECT id + 40, count(*) FROM de WHERE id < 3 GROUP BY id;
INSERT INTO de (id) SELECT 51 UNION SELECT 52;
INSERT INTO de (id) VALUES (60) RETURNING *;
SELECT * FROM de ORDER BY id;
UPDATE de SET t = DEFAULT, n = DEFAULT, x = DEFAULT, y = DEFAULT WHERE id = 4 RETURNING *;
COPY de (id, y) FROM STDIN;
70	1
71	\N
\.
COPY de (id, t) FROM STDIN CSV;
72,"copied"
\.
SELECT * FROM de WHERE id >= 70 ORDER BY id;
INSERT INTO de (id, t) VALUES (80, NULL);
CREATE TABLE dz (a timestamp DEFAULT now(), b date DEFAULT current_date, c timestamptz DEFAULT CURRENT_TIMESTAMP, d uuid DEFAULT gen_random_uuid(), e double precision DEFAULT random());
INSERT INTO dz DEFAULT VALUES;
INSERT INTO dz (b) VALUES ('2020-01-01'), ('2020-01-02');
SELECT count(*), count(a), count(DISTINCT d), count(DISTINCT e), bool_and(a = c) FROM dz;
SELECT count(*) FROM dz WHERE b = current_date;
CREATE TABLE dx (a integer DEFAULT 'x');
CREATE TABLE dx (a integer DEFAULT 'x'::text);
CREATE TABLE dx (a integer DEFAULT b, b integer);
CREATE TABLE dx (a integer DEFAULT (SELECT 1));
CREATE TABLE dx (a integer DEFAULT count(*));
CREATE TABLE dx (a bigint DEFAULT rank() OVER ());
CREATE TABLE dx (a integer DEFAULT 1 DEFAULT 2);
CREATE TABLE dx (a integer DEFAULT nosuch(1));
CREATE TABLE dx (a varchar(2) DEFAULT 'toolong');
INSERT INTO dx DEFAULT VALUES;
-- times mean what they meant when the column was made
SET datestyle = 'ISO, DMY';
CREATE TABLE dy (a date DEFAULT '01/02/2024');
SET datestyle = 'ISO, MDY';
INSERT INTO dy DEFAULT VALUES RETURNING a;
DROP TABLE dy;
RESET datestyle;
SET timezone = 'Asia/Tokyo';
SET intervalstyle = 'sql_standard';
CREATE TABLE dt (a timestamptz DEFAULT '2024-07-01', b timestamptz DEFAULT '0044-03-15 BC'::timestamptz, c timetz DEFAULT '12:00', d timestamp DEFAULT 'infinity', e interval DEFAULT '-1 2:03:04');
ALTER TABLE dt ADD COLUMN f timestamptz(0) DEFAULT '2024-07-01 10:00:00.7';
RESET intervalstyle;
SET timezone = 'UTC';
ALTER TABLE dt ALTER COLUMN d SET DEFAULT 'now';
BEGIN;
INSERT INTO dt DEFAULT VALUES RETURNING a, b, c, d < now(), e, f;
SELECT 'now'::timestamptz = now(), 'now'::timestamp = now()::timestamp, 'now'::time = now()::time, 'today'::timestamptz = date_trunc('day', now());
COMMIT;
SELECT 'now'::timestamptz = now() AND ('{now}'::timestamptz[])[1] = now();
SELECT 'now'::timestamptz = now() AND ('{now}'::timestamptz[])[1] = now();
SELECT 'now'::timestamptz = now() AND ('{now}'::timestamptz[])[1] = now();
SELECT 'now'::timestamptz = now() AND ('{now}'::timestamptz[])[1] = now();
PREPARE n AS SELECT 'now'::timestamptz = now();
EXECUTE n;
EXECUTE n;
DEALLOCATE n;
DROP TABLE dt;
RESET timezone;
DROP TABLE IF EXISTS de, dz, dx;
