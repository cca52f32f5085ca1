-- character(n): blanks at the end are written and mean nothing
DROP TABLE IF EXISTS ch;
DROP TABLE IF EXISTS ch2;
CREATE TABLE ch (c char(5), d character(3) NOT NULL DEFAULT 'x', one char, n nchar(2), v varchar(5), t text, PRIMARY KEY (c));
INSERT INTO ch VALUES ('ab', 'ab', 'a', 'nn', 'ab', 'ab'), ('abc  ', 'abc', 'b', 'n', 'abc  ', 'abc  '), ('äöü', 'äöü', 'ß', 'ñ', 'äöü', 'äöü');
INSERT INTO ch (c, v) VALUES ('', ''), ('de        ', 'de');
INSERT INTO ch (c) VALUES ('toolong');
INSERT INTO ch (c) VALUES ('toolo  x');
INSERT INTO ch (c) VALUES ('ab   ');
INSERT INTO ch (c, one) VALUES ('q', 'xy');
INSERT INTO ch (c, one) VALUES ('q', 'x          ');
INSERT INTO ch (c, one) VALUES ('r', 7), ('s', '8');
INSERT INTO ch (c) SELECT 'from ' || 'select  ';
INSERT INTO ch (c) SELECT 'f' || '        ';
SELECT * FROM ch ORDER BY c;
SELECT '[' || c || ']', '[' || d || ']', concat('[', c, ']'), length(c), octet_length(c), bit_length(c), char_length(c), character_length(d) FROM ch ORDER BY c;
SELECT c = 'ab', c = 'ab   ', c = 'ab'::text, c = 'ab   '::text, c = v, c = t, c = d, c <> 'ab', 'ab' = c FROM ch ORDER BY c;
SELECT c < 'b', c <= 'ab', c > 'ab', c >= 'ab      ', c < d, c < t FROM ch ORDER BY c;
SELECT c FROM ch WHERE c = 'ab';
SELECT c FROM ch WHERE c = 'ab         ';
SELECT c FROM ch WHERE c = 'abcdefgh';
SELECT c FROM ch WHERE c IN ('ab', 'de  ', 'nothing') ORDER BY c;
SELECT c FROM ch WHERE c NOT IN ('ab', 'de  ', 'nothing') ORDER BY c;
SELECT c FROM ch WHERE d IN ('x', 'ab') ORDER BY c;
SELECT c FROM ch WHERE c BETWEEN 'ab' AND 'e' ORDER BY c;
SELECT c FROM ch WHERE c IN (SELECT d FROM ch) ORDER BY c;
SELECT c FROM ch WHERE d IN (SELECT c FROM ch) ORDER BY c;
SELECT a.c, b.d FROM ch a JOIN ch b ON a.c = b.d ORDER BY 1, 2;
SELECT a.c, b.v FROM ch a JOIN ch b ON a.c = b.v ORDER BY 1, 2;
SELECT a.c, b.t FROM ch a JOIN ch b ON a.c = b.t ORDER BY 1, 2;
SELECT c FROM ch WHERE c LIKE 'ab';
SELECT c FROM ch WHERE c LIKE 'ab%' ORDER BY c;
SELECT c FROM ch WHERE c LIKE 'ab   ' ORDER BY c;
SELECT c FROM ch WHERE c LIKE '%c' OR c LIKE '_____' ORDER BY c;
SELECT c FROM ch WHERE c ILIKE 'AB%' ORDER BY c;
SELECT c FROM ch WHERE c NOT LIKE 'a%' ORDER BY c;
SELECT d, count(*), min(c), max(c), count(DISTINCT one) FROM ch GROUP BY d ORDER BY d;
SELECT DISTINCT d FROM ch ORDER BY d;
SELECT d FROM ch UNION SELECT one::char(3) FROM ch ORDER BY 1;
SELECT d FROM ch UNION ALL SELECT one::char(3) FROM ch ORDER BY 1;
SELECT '[' || upper(c) || ']', lower(c), reverse(c), substr(c, 2), left(c, 3), position('b' in c), replace(c, 'b', 'x'), lpad(c, 4, '*'), rpad(c, 4, '*'), trim(c), rtrim(c), repeat(c, 2) FROM ch ORDER BY c;
SELECT coalesce(c, 'x'), nullif(c, 'ab'), nullif(c, d), CASE WHEN d = 'ab' THEN c ELSE 'other' END, greatest(c, 'abd'), least(c, 'abd'::char(5)) FROM ch ORDER BY ch.c;
SELECT coalesce(NULL, c) = 'ab', max(c) FROM ch GROUP BY c ORDER BY max(c);
SELECT c IS DISTINCT FROM 'ab', c IS NULL FROM ch ORDER BY c;
SELECT 'ab'::char(5), 'abcdefg'::char(5), 'abcdefg'::char, 'ab  '::bpchar, char 'abc', character(2) 'abc', national character 'x', nchar(3) 'q';
SELECT 'ab'::char(5) = 'ab'::char(7), 'ab'::char(5) = 'ab', 'ab  '::bpchar = 'ab'::bpchar, 'ab '::text = 'ab'::char(5), 'ab '::varchar = 'ab'::char(5);
SELECT 'ab'::char(5) || 'x', 'x' || 'ab'::char(5), 'ab'::char(5) || 'cd'::char(4) || '|', 5 || 'ab'::char(4) || true, '['||'ab  '::bpchar||']';
SELECT '[' || 'ab'::char(5)::text || ']', '[' || 'ab'::char(5)::varchar(3) || ']', '[' || 'ab  '::text::char(3)::varchar || ']', '[' || ('ab'::char(5))::name || ']';
SELECT '12 '::char(5)::int, 12::char(5), true::char(5), 12345678::char(3), 1.5::char(5), '2024-01-01'::date::char(10), 'x'::"char"::char(2), 'xyz'::char(3)::"char", 'f'::bpchar::bool;
SELECT length('ab  '::char(4)), length('ab  '::bpchar), octet_length('ab'::char(4)), octet_length('ab  '::bpchar);
SELECT 'a'::char(0);
SELECT 'a'::char(-1);
SELECT 'a'::char(10485761);
SELECT 'a'::char(3,4);
SELECT 'a'::char(3) + 1;
SELECT 'a'::char(3) = 1;
SELECT sum(c) FROM ch;
CREATE TABLE ch2 (c int DEFAULT 'x'::char(3));
CREATE TABLE ch2 (k char(3) UNIQUE, w char(10) DEFAULT 'def');
INSERT INTO ch2 SELECT d, c FROM ch WHERE d <> 'x';
INSERT INTO ch2 VALUES ('ab ', 'again');
INSERT INTO ch2 VALUES ('zz');
UPDATE ch2 SET w = k WHERE k = 'zz';
UPDATE ch2 SET w = w || '!' WHERE k <> 'zz';
UPDATE ch2 SET k = 'toolong';
SELECT *, length(w) FROM ch2 ORDER BY k;
DELETE FROM ch2 WHERE k IN ('ab');
SELECT * FROM ch2 ORDER BY k DESC;
COPY ch2 FROM STDIN;
cp	copied
q	blanks         
\.
COPY ch2 FROM STDIN;
four	x
\.
COPY ch2 FROM STDIN (FORMAT csv);
r,
"s  ","t  "
\.
COPY (SELECT * FROM ch2 ORDER BY k) TO STDOUT;
COPY (SELECT * FROM ch2 ORDER BY k) TO STDOUT CSV;
SELECT k, '[' || w || ']' FROM ch2 WHERE w = 'blanks' OR k = 'r';
SELECT row_number() OVER (PARTITION BY w ORDER BY k), k, w FROM ch2 ORDER BY 3, 1;
SELECT k FROM ch2 GROUP BY k HAVING min(w) > 'b' ORDER BY k;
DROP TABLE ch;
DROP TABLE ch2;
