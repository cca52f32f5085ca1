DROP TABLE IF EXISTS t_small;
SELECT 'a'::"char", ''::"char", 'abc'::"char", 'a'::text::"char", 'a'::"char"::text, 'ab'::varchar::"char", ''::"char" = '', 'a'::"char" < 'b', 'a'::"char"::varchar(3), '\101'::"char";
SELECT 97::"char", (-1)::"char"::int, 'a'::"char"::int, 127::"char"::int;
SELECT 128::"char";
SELECT (-129)::"char";
SELECT 'a'::"char" = 97;
SELECT 'a'::"char"::bigint;
SELECT 5::bigint::"char";
SELECT 'a'::"char" = 'a'::text, length('a'::"char"), upper('a'::"char");
SELECT min(c), max(c) FROM (VALUES ('a'::"char"), ('Z')) v (c);
SELECT 'abc'::name, repeat('x', 70)::name, repeat('ä', 40)::name, 'abc'::name = 'abc', 'a'::name < 'b'::text, 'a'::name || 'b', length('abc'::name);
SELECT 5::oid, '4294967295'::oid, oid '7', 5::oid = 5, 5::oid < 6::bigint, 5::oid::text, 5::oid + 1;
CREATE TABLE t_small (id integer PRIMARY KEY, c "char", n name UNIQUE, o oid NOT NULL);
INSERT INTO t_small VALUES (1, 'a', 'one', 5), (2, NULL, NULL, 4294967295), (3, '', 'two', 0), (4, 'z', repeat('long', 20), 2147483648), (5, 'a', 'A', 5);
INSERT INTO t_small VALUES (6, 'abc', 'one', 7);
INSERT INTO t_small VALUES (6, 'abc', 'six', -1);
INSERT INTO t_small VALUES (7, 5, 'seven', 1);
INSERT INTO t_small VALUES (7, 'x', 7, '1');
INSERT INTO t_small VALUES (8, 'x', 'eight', 4294967296);
SELECT id, c, length(c), n, o FROM t_small ORDER BY o, id;
SELECT id, c FROM t_small ORDER BY c NULLS FIRST, id;
SELECT id, n FROM t_small ORDER BY n DESC NULLS LAST;
SELECT c, count(*) FROM t_small GROUP BY c ORDER BY c;
SELECT o, count(*) FROM t_small GROUP BY o ORDER BY o;
SELECT min(o), max(o), count(DISTINCT o), count(c), count(n), min(n), max(n) FROM t_small;
SELECT id FROM t_small WHERE c = 'a' ORDER BY id;
SELECT id FROM t_small WHERE c >= 'b' ORDER BY id;
SELECT id FROM t_small WHERE o > 2147483647 ORDER BY id;
SELECT id FROM t_small WHERE o = 5 ORDER BY id;
SELECT id FROM t_small WHERE n = 'two';
SELECT id FROM t_small WHERE n LIKE 'lo%';
SELECT a.id, b.id FROM t_small a JOIN t_small b ON a.c = b.c AND a.o = b.o ORDER BY 1, 2;
UPDATE t_small SET c = 'q', n = n || 'x', o = o WHERE id = 1;
COPY t_small FROM STDIN;
100	x	hundred	4294967294
101	\N	\N	7
102	\\101	aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbb	1
\.
COPY t_small FROM STDIN;
103	x	y	-4294967296
\.
SELECT * FROM t_small WHERE c IS DISTINCT FROM '' ORDER BY id;
DROP TABLE t_small;
