-- aggregates of pairs, and with WITHIN GROUP
CREATE TABLE agg_s (id integer PRIMARY KEY, k integer, x double precision, y double precision, n numeric(10,2), t text, i interval, d date, ts timestamp, c character(3), a integer[], flag boolean);
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_avgx(y, x), regr_avgy(y, x), regr_r2(y, x), regr_slope(y, x), regr_intercept(y, x) FROM agg_s;
SELECT mode() WITHIN GROUP (ORDER BY t), percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY t), percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT rank(1) WITHIN GROUP (ORDER BY id), dense_rank(1) WITHIN GROUP (ORDER BY id), percent_rank(1) WITHIN GROUP (ORDER BY id), cume_dist(1) WITHIN GROUP (ORDER BY id) FROM agg_s;
SELECT percentile_cont(2) WITHIN GROUP (ORDER BY x) FROM agg_s;
INSERT INTO agg_s VALUES
 (1, 1, 1.5, 2.25, 1.00, 'b', '1 day', '2020-01-01', '2020-01-01 10:00:00', 'a', '{1}', true),
 (2, 1, 2.5, 1, 1.0, 'a', '2 days', '2020-01-03', '2020-01-01 11:00:00', 'b', '{2}', true),
 (3, 1, 4, 7.125, 2.5, 'b', '36:00:00', '2020-01-02', '2020-01-02 10:00:00', 'a', '{1}', false),
 (4, 1, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (5, 2, 10, NULL, -3, 'c', '1 mon', 'infinity', '-infinity', 'zz', '{}', NULL),
 (6, 2, -3.25, 8, 4, 'd', '30 days', '1999-12-31', '2000-01-01', 'zz', '{NULL}', false),
 (7, 2, 0.5, 0.5, 4.00, 'd', '-1 day', '1999-12-31', '2000-01-01', 'q', '{3,4}', false),
 (8, NULL, 3, 3, 9, 'x', '0', '2001-01-01', '2001-01-01', 'r', '{5}', true);
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x) FROM agg_s;
SELECT regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_avgx(y, x), regr_avgy(y, x), regr_r2(y, x), regr_slope(y, x), regr_intercept(y, x) FROM agg_s;
SELECT k, corr(y, x), covar_samp(y, x), regr_count(y, x), regr_r2(y, x), regr_slope(y, x), regr_intercept(y, x) FROM agg_s GROUP BY k ORDER BY k;
SELECT corr(x, 1), corr(1, x), regr_r2(1, x), regr_r2(x, 1), regr_slope(x, 1), covar_samp(x, y) FILTER (WHERE id = 1), covar_pop(x, y) FILTER (WHERE id = 1) FROM agg_s;
SELECT regr_count(n, id), corr(n, id), regr_avgx(id, n), regr_count(DISTINCT k, 1) FROM agg_s;
SELECT corr(y, 'NaN'), covar_pop(y, 'Infinity'), regr_avgx(y, 'Infinity'), regr_sxx(y, '-Infinity') FROM agg_s;
SELECT regr_sxx(1, v) FROM (VALUES (1e200::float8), (-1e200)) s (v);
SELECT covar_pop(v, v) FROM (VALUES (1e308::float8), (1e308), (1e308)) s (v);
SELECT id, regr_count(y, x) OVER (ORDER BY id), corr(y, x) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM agg_s ORDER BY id;
SELECT corr(t, x) FROM agg_s;
SELECT corr(x) FROM agg_s;
SELECT every(flag), bool_and(flag) FROM agg_s;
SELECT mode() WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY t DESC), mode() WITHIN GROUP (ORDER BY k), mode() WITHIN GROUP (ORDER BY n DESC), mode() WITHIN GROUP (ORDER BY c), mode() WITHIN GROUP (ORDER BY d), mode() WITHIN GROUP (ORDER BY flag) FROM agg_s;
SELECT mode() WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY i) FROM agg_s WHERE id <> 5;
SELECT k, mode() WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY x), count(*) FROM agg_s GROUP BY k ORDER BY k;
SELECT percentile_cont(0) WITHIN GROUP (ORDER BY x), percentile_cont(0.25) WITHIN GROUP (ORDER BY x), percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC), percentile_cont(1) WITHIN GROUP (ORDER BY x), percentile_cont(0.3) WITHIN GROUP (ORDER BY n), percentile_cont(0.3) WITHIN GROUP (ORDER BY id) FROM agg_s;
SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY i), percentile_cont(0.75) WITHIN GROUP (ORDER BY i DESC), percentile_cont(ARRAY[0.1, 0.99]) WITHIN GROUP (ORDER BY i) FROM agg_s;
SELECT percentile_disc(0) WITHIN GROUP (ORDER BY x), percentile_disc(0.25) WITHIN GROUP (ORDER BY t), percentile_disc(0.5) WITHIN GROUP (ORDER BY n DESC), percentile_disc(1) WITHIN GROUP (ORDER BY d), percentile_disc(0.3) WITHIN GROUP (ORDER BY ts), percentile_disc(0.3) WITHIN GROUP (ORDER BY c) FROM agg_s;
SELECT percentile_cont(ARRAY[0, 0.25, NULL, 0.5, 1]) WITHIN GROUP (ORDER BY x), percentile_disc(ARRAY[0, 0.25, NULL, 0.5, 1]) WITHIN GROUP (ORDER BY t), percentile_disc(ARRAY[[0, 0.25], [0.5, 1]]) WITHIN GROUP (ORDER BY id), percentile_cont('{}'::float8[]) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY t), percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY y) FROM agg_s GROUP BY k ORDER BY k;
SELECT k, percentile_cont(k / 10.0) WITHIN GROUP (ORDER BY x), percentile_disc(0.1 * k) WITHIN GROUP (ORDER BY t) FROM agg_s GROUP BY k ORDER BY k;
SELECT id, percentile_cont(x / 100) WITHIN GROUP (ORDER BY y) FROM agg_s WHERE id < 4 GROUP BY id ORDER BY id;
SELECT k, percentile_cont(x) WITHIN GROUP (ORDER BY y) FROM agg_s GROUP BY k;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont('NaN') WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_disc(ARRAY[0.5, -0.1]) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY x), percentile_disc(NULL::float8[]) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM agg_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d) FROM agg_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE id < 4), percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE false) FROM agg_s;
SELECT rank(2) WITHIN GROUP (ORDER BY x), dense_rank(4) WITHIN GROUP (ORDER BY n), percent_rank(2) WITHIN GROUP (ORDER BY x), cume_dist(4) WITHIN GROUP (ORDER BY n), rank('c') WITHIN GROUP (ORDER BY t DESC NULLS LAST), rank(NULL) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT k, rank(2) WITHIN GROUP (ORDER BY x), dense_rank('d') WITHIN GROUP (ORDER BY t), percent_rank(2) WITHIN GROUP (ORDER BY x), cume_dist(4) WITHIN GROUP (ORDER BY n) FROM agg_s GROUP BY k ORDER BY k;
SELECT rank(1, 'b') WITHIN GROUP (ORDER BY k, t), dense_rank(2, 'd') WITHIN GROUP (ORDER BY k DESC, t), rank(2, 'x') WITHIN GROUP (ORDER BY k NULLS FIRST, t DESC) FROM agg_s;
SELECT k, rank(k) WITHIN GROUP (ORDER BY id) FROM agg_s GROUP BY k ORDER BY k;
SELECT rank(1) WITHIN GROUP (ORDER BY k, t) FROM agg_s;
SELECT rank(1, 2) WITHIN GROUP (ORDER BY k) FROM agg_s;
SELECT rank('x') WITHIN GROUP (ORDER BY k) FROM agg_s;
SELECT rank(true) WITHIN GROUP (ORDER BY k) FROM agg_s;
SELECT rank() WITHIN GROUP (ORDER BY k) FROM agg_s;
SELECT rank(1) FROM agg_s;
SELECT rank() FROM agg_s;
SELECT rank(1) OVER (ORDER BY id) FROM agg_s;
SELECT mode() FROM agg_s;
SELECT mode(1) WITHIN GROUP (ORDER BY k) FROM agg_s;
SELECT mode() WITHIN GROUP (ORDER BY k, t) FROM agg_s;
SELECT percentile_cont(0.5) FROM agg_s;
SELECT percentile_cont() WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont(0.5, 0.6) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT sum(x) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT upper(t) WITHIN GROUP (ORDER BY t) FROM agg_s;
SELECT string_agg(t) WITHIN GROUP (ORDER BY t) FROM agg_s;
SELECT percentile_cont(DISTINCT 0.5) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont(0.5 ORDER BY x) WITHIN GROUP (ORDER BY x) FROM agg_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER () FROM agg_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY sum(x)) FROM agg_s;
SELECT id FROM agg_s WHERE mode() WITHIN GROUP (ORDER BY k) = 1;
SELECT k FROM agg_s GROUP BY k HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY x) > 2 ORDER BY percentile_cont(0.5) WITHIN GROUP (ORDER BY y);
PREPARE agg_q(float8) AS SELECT percentile_cont($1) WITHIN GROUP (ORDER BY x), percentile_disc($1) WITHIN GROUP (ORDER BY t) FROM agg_s;
EXECUTE agg_q(0.5);
EXECUTE agg_q(0.9);
EXECUTE agg_q(9);
DEALLOCATE agg_q;
CREATE TABLE agg_t (id integer, k integer, x double precision);
INSERT INTO agg_t SELECT i, i % 7, (i * 7919 % 100003) / 8.0 FROM generate_series(1, 100000) AS g (i);
SELECT percentile_cont(0.123) WITHIN GROUP (ORDER BY x), percentile_disc(0.9) WITHIN GROUP (ORDER BY x DESC), mode() WITHIN GROUP (ORDER BY id % 100), rank(500) WITHIN GROUP (ORDER BY x), dense_rank(50) WITHIN GROUP (ORDER BY id % 90) FROM agg_t;
SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY id % 10), round(corr(x, id)::numeric, 8), round(regr_slope(x, id)::numeric, 8) FROM agg_t GROUP BY k ORDER BY k;
DROP TABLE agg_t;
DROP TABLE agg_s;
