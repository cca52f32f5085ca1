DROP TABLE IF EXISTS t_uuid, t_uuid_other;
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'::uuid, 'a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid, 'a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11'::uuid;
SELECT ''::uuid;
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1'::uuid;
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-'::uuid;
SELECT ' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid;
SELECT '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid;
SELECT 'g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid;
SELECT 1::uuid;
SELECT uuid '00000000-0000-0000-0000-000000000000' < '00000000-0000-0000-0000-000000000001', uuid '80000000-0000-0000-0000-000000000000' > '7fffffff-ffff-ffff-ffff-ffffffffffff';
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::text, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::varchar(8), ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::text || '')::uuid;
SELECT uuid '00000000-0000-0000-0000-000000000000' = 'x'::text;
SELECT uuid '00000000-0000-0000-0000-000000000000' + 1;
SELECT sum(uuid '00000000-0000-0000-0000-000000000000');
SELECT min(uuid '00000000-0000-0000-0000-000000000000');
SELECT gen_random_uuid() IS NULL, gen_random_uuid() = gen_random_uuid(), substr(gen_random_uuid()::text, 15, 1), substr(gen_random_uuid()::text, 20, 1) IN ('8', '9', 'a', 'b');
CREATE TABLE t_uuid (id uuid PRIMARY KEY, v uuid, n integer);
INSERT INTO t_uuid VALUES ('00000000-0000-0000-0000-000000000003', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 1), ('80000000-0000-0000-0000-000000000001', NULL, 2), ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000003', 3), ('00000000-0000-0000-8000-000000000001', '00000000-0000-0000-0000-000000000003', 4);
INSERT INTO t_uuid VALUES ('00000000000000000000000000000003');
INSERT INTO t_uuid (n) VALUES (9);
INSERT INTO t_uuid (id, n) VALUES (7, 9);
INSERT INTO t_uuid (id, n) SELECT ('00000000-0000-0000-1000-00000000' || substr((10000 + x)::text, 2, 4))::uuid, x FROM (VALUES (1), (2), (300)) t (x);
SELECT * FROM t_uuid ORDER BY id;
SELECT id FROM t_uuid ORDER BY v DESC NULLS LAST, id DESC;
SELECT id FROM t_uuid ORDER BY id DESC LIMIT 2;
SELECT v, count(*) FROM t_uuid GROUP BY v ORDER BY v NULLS FIRST;
SELECT DISTINCT v FROM t_uuid ORDER BY v;
SELECT count(v), count(DISTINCT v), count(*) FROM t_uuid;
SELECT a.n, b.n FROM t_uuid a JOIN t_uuid b ON a.v = b.id ORDER BY 1, 2;
SELECT n FROM t_uuid WHERE id = '00000000-0000-0000-8000-000000000001';
SELECT n FROM t_uuid WHERE id > '00000000-0000-0000-8000-000000000000' ORDER BY n;
SELECT n FROM t_uuid WHERE id IN ('00000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000001', '11111111-1111-1111-1111-111111111111') ORDER BY n;
SELECT n FROM t_uuid WHERE v IS NOT DISTINCT FROM NULL ORDER BY n;
SELECT n, coalesce(v, id), nullif(id, v), greatest(id, v), CASE WHEN n > 2 THEN id END FROM t_uuid ORDER BY n, id;
UPDATE t_uuid SET v = id WHERE v IS NULL;
DELETE FROM t_uuid WHERE id < '00000000-0000-0000-0000-000000000002';
SELECT * FROM t_uuid ORDER BY n, id;
COPY t_uuid FROM STDIN;
aaaaaaaa-0000-0000-0000-000000000001	\N	100
{aaaaaaaa000000000000000000000002}	bbbbbbbb-0000-0000-0000-000000000001	101
\.
COPY t_uuid FROM STDIN (FORMAT csv);
aaaaaaaa-0000-0000-0000-000000000003,,102
zzz,,103
\.
SELECT id, v FROM t_uuid WHERE n >= 100 ORDER BY id;
CREATE TABLE t_uuid_other (a integer, u uuid UNIQUE NOT NULL, PRIMARY KEY (u, a));
INSERT INTO t_uuid_other VALUES (1, 'aaaaaaaa-0000-0000-0000-000000000001');
INSERT INTO t_uuid_other VALUES (1, 'aaaaaaaa-0000-0000-0000-000000000001');
SELECT n FROM t_uuid LEFT JOIN t_uuid_other ON u = id ORDER BY u NULLS LAST, n;
DROP TABLE t_uuid, t_uuid_other;
SELECT oid FROM (VALUES (4294967295::oid), (0), ('-1'::oid), (2147483648), (7)) v (oid) ORDER BY oid;
SELECT max(o), min(o), count(DISTINCT o) FROM (VALUES (4294967295::oid), (0::oid), (2147483648)) v (o);
SELECT 4294967295::oid > 1::oid, 2147483648::oid::int4, 2147483648::oid::int8, (-1)::int4::oid, 4294967296::int8::oid;
SELECT 5::int2::oid, '12'::oid, 'x'::oid;
