DROP TABLE IF EXISTS cp;
CREATE TABLE cp (a integer, b text, c numeric(8,2), d date);
COPY cp FROM STDIN;
1	one	1.5	2024-01-01
2	\N	\N	\N
3	tab\there	-3	2024-02-29
4	back\\slash	0	1999-12-31
\.
SELECT * FROM cp ORDER BY a;
COPY cp FROM STDIN WITH (FORMAT csv, HEADER);
a,b,c,d
5,"quoted, comma",7.25,2024-03-01
6,"a ""quote""",,
7,,8,
8,"",9,
\.
SELECT a, b, b IS NULL AS bn, c, d FROM cp WHERE a >= 5 ORDER BY a;
COPY cp (b, a) FROM STDIN (DELIMITER '|', NULL 'nil');
nine|9
nil|10
\.
SELECT a, b FROM cp WHERE a >= 9 ORDER BY a;
COPY cp FROM STDIN;
11	eleven	x	2024-01-01
\.
COPY cp FROM STDIN;
12	twelve
\.
COPY cp FROM STDIN;
13	a	1	2024-01-01	extra
\.
COPY cp FROM STDIN CSV;
14,"open,1,2024-01-01
\.
COPY cp FROM STDIN (FORMAT csv, QUOTE '''', DELIMITER ';');
15;'semi;colon';1;2024-01-01
\.
COPY nosuch FROM STDIN;
COPY cp (nosuch) FROM STDIN;
SELECT count(*), sum(a), sum(c), min(d), max(b) FROM cp;
DROP TABLE cp;
