-- Everyday functions: format() and quoting, names of arguments, VARIADIC, buckets, periods, degrees, Unicode
SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('a'), pg_typeof(NULL::int[]), pg_typeof('a'::varchar(3)), pg_typeof(now()), pg_typeof(pg_typeof(1)), pg_typeof(1)::text || '!';
SELECT format('Hello %s, %1$s %I %L %%', 'World', 'a b', NULL), format('%-10s|%5s|%2$-5s|', 'ab', 'c'), format('%2$s %1$s', 1, 2.5), format('plain'), format(NULL, 1), format('%s|%s', true, 'x'::char(3)), format('%*s|%-*s|', 5, 'a', 4, 'b'),
    format('%1$*2$s|', 'x', 4), format('%s %s', VARIADIC ARRAY['a', 'b']), format('%L %I', E'a''b\\', 'Select'), format('%s', NULL), format('>%5L<', 'é'), format('%3$s %s', 1, 2, 3);
SELECT format('%s');
SELECT format('%y', 1);
SELECT format('%');
SELECT format('%0$s', 1);
SELECT format('%1$*2s', 1, 2);
SELECT format('%I', NULL);
SELECT format('%*s', 'a', 'b');
SELECT format('%1$s %2$s', 1);
SELECT quote_ident('a b'), quote_ident('select'), quote_ident('abc'), quote_ident('A'), quote_ident('a"b'), quote_ident(''), quote_ident('between'), quote_ident('name'), quote_ident('1a'), quote_ident('é');
SELECT concat_ws(',', 1, 2, NULL, 4, 5, 6, 7, 8), concat_ws(NULL, 1, 2, 3, 4, 5, 6, 7), concat(VARIADIC ARRAY[1, NULL, 2]), concat_ws('-', VARIADIC ARRAY['a', NULL, 'b']), concat_ws(',', 1, true, 'c'::char(3), 4.5, NULL, NULL, date '2020-01-02');
SELECT concat(VARIADIC 1);
SELECT num_nulls(1, NULL, 'a'), num_nonnulls(1, NULL, 2), num_nulls(VARIADIC ARRAY[1, NULL]), num_nonnulls(VARIADIC NULL::int[]), num_nulls(NULL);
SELECT num_nulls();
SELECT date_bin('15 min', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01'), date_bin('2 days', timestamptz '2020-02-11 15:44:17+00', timestamptz '2001-01-01+00'), date_bin('1 h', timestamp '1999-01-01 00:30', timestamp '2001-01-01 00:10'),
    date_bin('1 h', timestamp 'infinity', timestamp '2001-01-01');
SELECT date_bin('1 month', timestamp '2020-02-11', timestamp '2001-01-01');
SELECT date_bin('0 s', timestamp '2020-02-11', timestamp '2001-01-01');
SELECT date_bin('1 s', timestamp '2020-02-11', timestamp '-infinity');
SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5.35::float8, 0.024, 10.06, 5), width_bucket(3, ARRAY[1, 3, 5]), width_bucket(0, ARRAY[1, 3, 5]), width_bucket(9.5, ARRAY[1, 3, 5]), width_bucket(10.0, 0, 10, 4), width_bucket(-1.0, 0, 10, 4),
    width_bucket(3.0, 10, 0, 5), width_bucket('b', ARRAY['a', 'c']), width_bucket(2.5::float8, 0, 10, 4), width_bucket(1, '{}'::int[]);
SELECT width_bucket(1.0, 0, 10, 0);
SELECT width_bucket(1.0, 1, 1, 3);
SELECT width_bucket('NaN'::float8, 1, 2, 3);
SELECT width_bucket(1::float8, 1, 'infinity', 3);
SELECT width_bucket(1, ARRAY[1, NULL]);
SELECT x, width_bucket(x, 0, 100, 10), width_bucket(x::float8, 0, 100, 7), width_bucket(x, 100, 0, 3) FROM generate_series(-10.0, 110, 7.5) x;
SELECT (date '2001-02-16', date '2001-12-21') OVERLAPS (date '2001-10-30', date '2002-10-30'), (date '2001-02-16', interval '100 days') OVERLAPS (date '2001-10-30', date '2002-10-30'), (time '10:00', time '12:00') OVERLAPS (time '11:00', interval '1 hour'),
    (timestamp '2000-01-01', NULL) OVERLAPS (timestamp '2000-01-01', timestamp '2000-01-02'), (NULL, NULL::timestamp) OVERLAPS (timestamp '2000-01-01', timestamp '2000-01-02'), (timestamp '2000-01-03', timestamp '2000-01-01') OVERLAPS (timestamp '2000-01-02', timestamp '2000-01-02'),
    (date '2001-10-29', date '2001-10-30') OVERLAPS (date '2001-10-30', date '2001-10-31'), (timetz '10:00+01', timetz '11:00+01') OVERLAPS (timetz '10:30+00', timetz '12:00+00');
SELECT (1, 2, 3) OVERLAPS (1, 2);
SELECT (1, 2) OVERLAPS (3, 4);
SELECT parse_ident('SomeSchema.someTable'), parse_ident('"A".b'), parse_ident(' a . "b""c" '), parse_ident('a.b(', false), parse_ident('é_1$');
SELECT parse_ident('a.');
SELECT parse_ident('.a');
SELECT parse_ident('a b');
SELECT parse_ident('"a');
SELECT parse_ident('a."".c');
SELECT parse_ident('');
SELECT parse_ident(str => 'a.b', strict => true), make_interval(days => 10), make_interval(secs := 5.5, hours => 1), make_date(day => 3, month => 2, year => 2020), make_interval(1, mins => 5), make_timestamp(2020, 1, 2, hour => 3, min => 4, sec => 5);
SELECT make_date(2020, foo => 1);
SELECT make_interval(days => 1, days => 2);
SELECT make_interval(days => 1, 2);
SELECT lower(x => 'a');
SELECT * FROM string_to_table('a,b,,c', ',');
SELECT * FROM string_to_table('a,b,c', ',', 'b') WITH ORDINALITY;
SELECT * FROM string_to_table('abc', NULL);
SELECT starts_with('abc', 'ab'), 'abc' ^@ 'ab', 'abc' ^@ 'b';
SELECT normalize('a' || U&'\0301'), normalize('é', NFD) = U&'e\0301', normalize(U&'\FB01', NFKC), 'a' IS NORMALIZED, 'é' IS NFD NORMALIZED, U&'e\0301' IS NOT NORMALIZED, normalize('é', 'nfd');
SELECT normalize('a', foo);
SELECT unistr('d\0061t\+000061'), unistr('\u0441\U0001F600\\'), unistr('\d83d\de00');
SELECT unistr('\00');
SELECT unistr('\d83d');
SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4), overlay('\x1234567890'::bytea PLACING '\x0203' FROM 2 FOR 3), overlay('\x1234'::bytea PLACING '\x56' FROM 9), trim('\x00'::bytea FROM '\x001200'::bytea), ltrim('\x0012'::bytea, '\x00'), rtrim('\x1200'::bytea, '\x00'),
    btrim('\x001200'::bytea, ''), bit_count('\x1234'::bytea), bit_count(''::bytea);
SELECT overlay('\x12'::bytea PLACING '\x56' FROM 0);
SELECT x, sind(x), cosd(x), tand(x), cotd(x) FROM generate_series(-360, 720, 45) x;
SELECT sind(30), cosd(60), sind(10), cosd(10), asind(0.5), acosd(0.5), acosd(-0.3), asind(-0.7), atand(1), atan2d(1, 1), atan2d(-1, 0), sind('NaN'), atand('infinity');
SELECT sind('infinity');
SELECT acosd(2);
SELECT row(1, NULL) IS NULL, row(NULL, NULL) IS NULL, (1, 2) IS NOT NULL, (1, NULL) IS NOT NULL;
CREATE TABLE fe (id integer PRIMARY KEY, t text, n numeric(8, 2), ts timestamp, b boolean);
INSERT INTO fe SELECT g, CASE WHEN g % 4 > 0 THEN 'name ' || g END, g * 1.25, timestamp '2024-01-01' + g * interval '7 min', g % 3 = 0 FROM generate_series(1, 300) g;
SELECT date_bin('1 h', ts, '2024-01-01') AS h, count(*), sum(n) FROM fe GROUP BY 1 ORDER BY 1 LIMIT 5;
SELECT width_bucket(n, 0, 400, 8) AS w, count(*), min(format('%s/%L', id, t)) FROM fe GROUP BY 1 ORDER BY 1;
SELECT format('%s %I %L %s', id, t, b, n), num_nulls(t, n, NULL), concat_ws('|', id, t, n, b, ts, id, t) FROM fe WHERE t IS NOT NULL ORDER BY id LIMIT 5;
SELECT count(*) FROM fe WHERE t ^@ 'name 1' AND (ts, interval '1 h') OVERLAPS (timestamp '2024-01-01 05:00', timestamp '2024-01-01 10:00');
SELECT id FROM fe WHERE (t, b) IS NULL ORDER BY id;
DROP TABLE fe;
