DROP TABLE IF EXISTS t_bytea;
SELECT '\x'::bytea, '\xDEADbeef'::bytea, '\x de ad BE EF '::bytea, ''::bytea, 'abc'::bytea, 'a\\b\000\377'::bytea, 'äö'::bytea, E'\\x00ff'::bytea;
SET bytea_output = 'escape';
SELECT '\x'::bytea, '\xDEADbeef'::bytea, 'a\\b\000\377'::bytea, 'äö'::bytea, '\x7f7e1f20'::bytea, '\x5c'::bytea::text;
RESET bytea_output;
SELECT '\xabc'::bytea;
SELECT '\xag'::bytea;
SELECT '\x1ä'::bytea;
SELECT '\x a b'::bytea;
SELECT 'a\b'::bytea;
SELECT 'a\400'::bytea;
SELECT 'a\18'::bytea;
SELECT '\'::bytea;
SELECT '\X00'::bytea;
SELECT 5::bytea;
SELECT 'abc'::text::bytea, 'abc'::bytea::text, 'abc'::varchar::bytea;
SELECT '\x01'::bytea || '\x02', '\x01' || '\x02'::bytea, '\x01'::bytea || '\x0203'::bytea, 'a' || '\x62'::bytea::text;
SELECT length('\x010203'::bytea), octet_length('äö'::bytea), bit_length('\x0102'::bytea), length(''::bytea);
SELECT substring('\x0102030405'::bytea from 2 for 2), substr('\x0102030405'::bytea, 4), substr('\x0102'::bytea, -1, 3), substring('\x0102'::bytea from 5), substr('\x0102'::bytea, 1, 2147483647);
SELECT substr('\x0102'::bytea, 1, -1);
SELECT position('\x0203'::bytea in '\x010203'::bytea), position(''::bytea in '\x01'::bytea), position('\x05'::bytea in '\x01'::bytea);
SELECT get_byte('\x0102ff'::bytea, 2), set_byte('\x0102ff'::bytea, 1, 171), get_bit('\x0102ff'::bytea, 8), get_bit('\x0102ff'::bytea, 9), set_bit('\x00'::bytea, 3, 1);
SELECT get_byte('\x0102ff'::bytea, 3);
SELECT get_byte('\x'::bytea, 0);
SELECT set_byte('\x01'::bytea, -1, 0);
SELECT get_bit('\x01'::bytea, 8);
SELECT set_bit('\x01'::bytea, 0, 2);
SELECT encode('\x0102ff'::bytea, 'hex'), encode('\x0102ff'::bytea, 'base64'), encode('\x005c61ff7f'::bytea, 'escape'), encode('\x01'::bytea, 'BASE64'), encode('\x0102'::bytea, 'base64'), encode(''::bytea, 'base64');
SELECT encode(decode(repeat('00', 57), 'hex'), 'base64'), encode(decode(repeat('ab', 60), 'hex'), 'base64'), encode(decode(repeat('11', 114), 'hex'), 'base64');
SELECT decode('0102FF', 'hex'), decode('AQL/', 'base64'), decode('A Q L
/', 'base64'), decode('AQ==', 'base64'), decode('AQI=', 'base64'), decode('a\\\001', 'escape'), decode('', 'base64');
SELECT encode('\x01'::bytea, 'rot13');
SELECT decode('AQ', 'base64');
SELECT decode('=AQ', 'base64');
SELECT decode('A!Q=', 'base64');
SELECT decode('Aä==', 'base64');
SELECT decode('0', 'hex');
SELECT md5(''), md5('abc'), md5('The quick brown fox jumps over the lazy dog'), md5('\x00ff'::bytea), md5(repeat('x', 55)), md5(repeat('x', 56)), md5(repeat('x', 64)), md5(repeat('x', 119)), md5(repeat('x', 1000));
SELECT sha256(''), sha256('abc'::bytea), sha512('abc'::bytea);
SELECT '\x01'::bytea < '\x0100'::bytea, '\x80'::bytea > '\x7f'::bytea, '\x00'::bytea = '\x00', '\x00'::bytea <> '', bytea '\x61' = 'a';
SELECT '\x01'::bytea = 'a'::text;
SELECT sum('\x01'::bytea);
SELECT lower('\x01'::bytea);
CREATE TABLE t_bytea (id integer PRIMARY KEY, b bytea UNIQUE, c bytea NOT NULL);
INSERT INTO t_bytea VALUES (1, '\x00', ''), (2, '\xff00', 'abc'), (3, NULL, '\x80'), (4, '\x', '\x80'), (5, '\x0000', 'abc'), (6, '\xc3', '\xc328');
INSERT INTO t_bytea VALUES (7, '\x00', '');
INSERT INTO t_bytea VALUES (7, '\x11', NULL);
INSERT INTO t_bytea VALUES (7, 'x\');
SELECT * FROM t_bytea ORDER BY b;
SELECT * FROM t_bytea ORDER BY c DESC, id LIMIT 3;
SELECT c, count(*) FROM t_bytea GROUP BY c ORDER BY c;
SELECT DISTINCT c FROM t_bytea ORDER BY c;
SELECT count(b), count(DISTINCT c) FROM t_bytea;
SELECT id FROM t_bytea WHERE b = '\x0000';
SELECT id FROM t_bytea WHERE c IN ('abc', '\x80') ORDER BY id;
SELECT id FROM t_bytea WHERE c > 'ab' ORDER BY id;
SELECT a.id, b.id FROM t_bytea a JOIN t_bytea b ON a.c = b.c ORDER BY 1, 2;
SELECT id, b || c, coalesce(b, c), length(b), encode(c, 'hex') FROM t_bytea ORDER BY id;
UPDATE t_bytea SET c = c || '\x00' WHERE length(c) = 3;
DELETE FROM t_bytea WHERE b < '\x0000';
SELECT * FROM t_bytea ORDER BY id;
COPY t_bytea FROM STDIN;
100	\\x0102	a\\\\b\\000
101	\N	\\xff
102	äö	xyz
\.
COPY t_bytea FROM STDIN (FORMAT csv);
110,\x0103,"a,b"
111,,\xabc
\.
COPY t_bytea FROM STDIN (FORMAT csv);
112,zz,\xzz
\.
SELECT * FROM t_bytea ORDER BY id;
DROP TABLE t_bytea;
