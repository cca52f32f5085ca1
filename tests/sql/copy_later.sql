-- what COPY has since PostgreSQL 16 and 17: DEFAULT, ON_ERROR, LOG_VERBOSITY; and what it refuses here
DROP TABLE IF EXISTS co;
CREATE TABLE co (a integer DEFAULT 7, b text DEFAULT 'dflt', c date, u uuid DEFAULT gen_random_uuid(), t timestamptz DEFAULT now());
COPY co (a, b, c) FROM STDIN (DEFAULT '\D');
1	\D	2024-01-01
\D	two	\N
\D	\D	\N
4	\\D	\N
\.
COPY co (a, b) FROM STDIN (FORMAT csv, DEFAULT 'def', NULL 'nil');
def,def
10,"def"
11,nil
12,
\.
COPY co FROM STDIN (FORMAT csv, DEFAULT '-');
-,-,2024-02-02,-,-
\.
SELECT a, b, c, u IS NULL AS u, t IS NULL AS t FROM co ORDER BY a, b, c;
SELECT count(DISTINCT u) = count(u) AS own, count(DISTINCT t) > 0 AS t FROM co;
COPY co (a, c) FROM STDIN (DEFAULT '\D');
1	2024-01-01
2	\D
\.
COPY co (a, c) FROM STDIN (FORMAT csv, DEFAULT '@');
1,2024-01-01
2,@
\.
COPY co (a, b) FROM STDIN (DEFAULT '99') WHERE a <> 7;
99	not this
98	this
\.
SELECT a, b FROM co WHERE b LIKE '%this' ORDER BY a;
COPY co FROM STDIN (FORMAT binary, DEFAULT 'x');
COPY co FROM STDIN (DEFAULT E'a\nb');
COPY co FROM STDIN (DEFAULT E'a\tb');
COPY co FROM STDIN (FORMAT csv, DEFAULT 'a,b');
COPY co FROM STDIN (FORMAT csv, DEFAULT 'a"b');
COPY co FROM STDIN (DEFAULT '\N');
COPY co FROM STDIN (FORMAT csv, DEFAULT 'x', NULL 'x');
COPY co TO STDOUT (DEFAULT 'x');
COPY co FROM STDIN (DEFAULT);
TRUNCATE co;
COPY co (a, b, c) FROM STDIN (ON_ERROR ignore);
1	one	2024-01-01
x	two	2024-01-02
3	three	2024-13-03
99999999999	four	2024-01-04
5	five	2024-01-05
\.
COPY co (a, b, c) FROM STDIN (FORMAT csv, ON_ERROR 'ignore', LOG_VERBOSITY verbose);
6,"six
lines",2024-01-06
seven,"sev
en",2024-01-07
8,eight,"a value that is so long that it is cut behind one hundred characters, which are these, and some more of them here"
9,nine,
\.
COPY co (a, b, c) FROM STDIN (ON_ERROR ignore);
10	ten	2024-01-10
bad	eleven
\.
COPY co (a, b, c) FROM STDIN (ON_ERROR ignore);
bad	twelve	2024-01-12	extra
\.
COPY co (a, b, c) FROM STDIN (ON_ERROR stop);
bad	thirteen	2024-01-13
\.
COPY co (a, b, c) FROM STDIN (ON_ERROR ignore, DEFAULT '\D') WHERE a <> 15;
bad	\D	\N
14	\D	\N
15	\D	\N
\D	\D	2024
\.
SELECT a, b, c FROM co ORDER BY a;
COPY co FROM STDIN (ON_ERROR maybe);
COPY co FROM STDIN (FORMAT binary, ON_ERROR ignore);
COPY co FROM STDIN (FORMAT binary, ON_ERROR stop, NULL 'x');
COPY co TO STDOUT (ON_ERROR stop);
COPY co FROM STDIN (LOG_VERBOSITY loud);
COPY co FROM STDIN (ENCODING 'latin1');
COPY co FROM '/tmp/file';
COPY co TO '/tmp/file';
COPY co FROM PROGRAM 'cat';
COPY co TO PROGRAM 'cat';
DROP TABLE co;
CREATE TABLE co (c bpchar);
