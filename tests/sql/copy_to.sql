DROP TABLE IF EXISTS ct, ct1, ct0;
CREATE TABLE ct (a integer, b text, c numeric(8,2), d date, e double precision, f boolean, g timestamp, h bigint PRIMARY KEY, "Odd, name" varchar(20));
INSERT INTO ct VALUES (1, 'one', 1.5, '2024-01-01', 0.1, true, '2024-01-01 10:00:00', 1, 'x'),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL),
 (3, E'tab\there', -3, '2024-02-29', 'NaN', false, 'infinity', 3, 'comma, here'),
 (4, E'back\\slash', 0, '1999-12-31', 1e300, true, '1999-12-31 23:59:59.5', 4, 'quote "q"'),
 (5, E'new\nline', 7, '-infinity', '-Infinity', true, NULL, 5, ''),
 (6, E'cr\rend', 7, '0044-03-15 BC', -0.0, true, NULL, 6, ' blanks '),
 (7, E'\b\f\x0b\x01', 7, NULL, 3, true, NULL, -7, E'\\.'),
 (8, E'\\N', 7, NULL, 3, true, NULL, 8, E'\\N'),
 (9, 'äöü €', 7, NULL, 3, true, NULL, 9, '''single''');
COPY ct TO STDOUT;
COPY ct TO STDOUT WITH (FORMAT csv);
COPY ct TO STDOUT WITH (FORMAT csv, HEADER);
COPY ct TO STDOUT CSV HEADER;
COPY ct TO STDOUT (HEADER);
COPY ct (h, b) TO STDOUT;
COPY ct (b, a) TO STDOUT WITH (FORMAT csv, FORCE_QUOTE (a));
COPY ct (b, a) TO STDOUT WITH (FORMAT csv, FORCE_QUOTE *);
COPY ct (b, a) TO STDOUT CSV FORCE QUOTE b;
COPY ct (a, b) TO STDOUT (DELIMITER '|', NULL 'nil');
COPY ct (a, b, h) TO STDOUT (DELIMITER '|', NULL '4', FORMAT csv);
COPY ct (a, b, h) TO STDOUT (DELIMITER '1', FORMAT csv);
COPY ct (a, h) TO STDOUT (DELIMITER '-', FORMAT csv);
COPY ct (a, b) TO STDOUT (FORMAT csv, QUOTE '''', ESCAPE E'\\');
COPY ct (a, "Odd, name") TO STDOUT (FORMAT csv, QUOTE '''');
COPY ct (b) TO STDOUT (DELIMITER ' ');
COPY ct ("Odd, name") TO STDOUT CSV;
COPY ct (a, "Odd, name") TO STDOUT CSV;
COPY (SELECT a, count(*), sum(c) FROM ct GROUP BY a ORDER BY a DESC LIMIT 3) TO STDOUT;
COPY (SELECT a AS x, b AS "y z", a + 1 FROM ct WHERE a < 3 ORDER BY a) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (x));
COPY (VALUES (1, 'a'), (2, NULL)) TO STDOUT;
COPY (SELECT 1) TO STDOUT WITH (FORMAT text);
COPY (SELECT 1 WHERE false) TO STDOUT CSV HEADER;
CREATE TABLE ct1 (v text);
INSERT INTO ct1 VALUES (E'\\.'), (''), (NULL);
COPY ct1 TO STDOUT;
COPY ct1 TO STDOUT CSV;
COPY ct1 TO STDOUT BINARY CSV;
COPY ct TO STDOUT (FORMAT csv, HEADER match);
COPY ct TO STDOUT (FORMAT csv, FORCE_QUOTE (nosuch));
COPY ct (a) TO STDOUT (FORMAT csv, FORCE_QUOTE (b));
COPY (SELECT 1 AS x) TO STDOUT (FORMAT csv, FORCE_QUOTE (b));
COPY ct TO STDOUT (FORCE_QUOTE (a));
COPY ct TO STDOUT (FORMAT csv, FORCE_NULL (a));
COPY ct TO STDOUT (FORMAT csv, FORCE_NOT_NULL (a));
COPY ct TO STDOUT (FORMAT csv, DELIMITER ',,');
COPY ct TO STDOUT (FORMAT csv, NULL ',');
COPY ct TO STDOUT (FORMAT binary, DELIMITER ',');
COPY ct TO STDOUT (FORMAT xml);
COPY ct TO STDOUT (nosuch);
COPY nosuch TO STDOUT;
COPY ct (nosuch) TO STDOUT;
COPY ct (a, a) TO STDOUT;
COPY ct TO STDOUT WHERE a > 1;
COPY (SELECT 1) FROM STDIN;
COPY (SELECT nosuch FROM ct) TO STDOUT;
COPY (SELECT 1 / (a - 1) FROM ct WHERE a < 3 ORDER BY a DESC) TO STDOUT;
SELECT count(*) FROM ct;
DROP TABLE ct, ct1;
