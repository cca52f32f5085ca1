-- variances, standard deviations and aggregates of bits
CREATE TABLE figures (g int, s smallint, i int, b bigint, n numeric, d numeric(12,2), w numeric(30,6), f float8, r real);
INSERT INTO figures VALUES (1, 1, 10, 100, 1.5, 10.25, 1000000.000001, 1.5, 1.5), (1, 2, 20, 200, 2.25, 20.50, 2000000.000002, 2.25, 2.25),
  (1, 3, -30, 300, -7.125, -30.75, -3.5, -7.125, -7.125), (2, 7, 2147483647, 9223372036854775807, 1e20, 9999999999.99, 123456789012345678901234.123456, 1e200, 1e30),
  (2, -7, -2147483648, -9223372036854775808, -1e20, -9999999999.99, -123456789012345678901234.123456, 0, 1e30), (3, 5, 5, 5, 5.00, 5, 5, 5, 5), (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (5, 4, 4, 4, 4, 4, 4, 4, 4), (5, 4, 4, 4, 4.000, 4, 4, 4, 4), (6, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1), (6, 0, 0, 0, 0.02, 0.02, 0.02, 0.02, 0.02), (6, 1, 1, 1, 0.003, 0, 0.003, 0.003, 0.003);
SELECT g, var_pop(s), var_samp(s), variance(s), stddev_pop(s), stddev_samp(s), stddev(s) FROM figures GROUP BY g ORDER BY g;
SELECT g, var_pop(i), var_samp(i), variance(i), stddev_pop(i), stddev_samp(i), stddev(i) FROM figures GROUP BY g ORDER BY g;
SELECT g, var_pop(b), var_samp(b), variance(b), stddev_pop(b), stddev_samp(b), stddev(b) FROM figures WHERE g <> 2 GROUP BY g ORDER BY g;
SELECT var_pop(b / 1000000), stddev(b / 10) FROM figures WHERE g = 2;
SELECT g, var_pop(n), var_samp(n), variance(n), stddev_pop(n), stddev_samp(n), stddev(n) FROM figures WHERE g <> 2 GROUP BY g ORDER BY g;
SELECT g, var_pop(d), var_samp(d), variance(d), stddev_pop(d), stddev_samp(d), stddev(d) FROM figures GROUP BY g ORDER BY g;
SELECT g, var_pop(w), var_samp(w), variance(w), stddev_pop(w), stddev_samp(w), stddev(w) FROM figures WHERE g <> 2 GROUP BY g ORDER BY g;
SELECT g, var_pop(f), var_samp(f), variance(f), stddev_pop(f), stddev_samp(f), stddev(f) FROM figures WHERE g <> 2 GROUP BY g ORDER BY g;
SELECT g, var_pop(r), var_samp(r), variance(r), stddev_pop(r), stddev_samp(r), stddev(r) FROM figures GROUP BY g ORDER BY g;
SELECT var_pop(s), stddev(i), variance(b), stddev_pop(n), var_samp(d) FROM figures;
SELECT stddev(f) FROM figures;
SELECT stddev_pop(i) FROM figures WHERE false;
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('NaN'::numeric), (1)) v(x);
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('Infinity'::numeric)) v(x);
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('NaN'::numeric(10,2)), (1)) v(x);
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('NaN'::float8), (1)) v(x);
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('Infinity'::float8), (1)) v(x);
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('Infinity'::float8)) v(x);
SELECT variance(x) FROM (VALUES (1e308::float8), (-1e308)) v(x);
SELECT variance(x), stddev(x) FROM (VALUES (1.0), (2.00000000000001), (3)) v(x);
SELECT variance(x), stddev(x) FROM (VALUES (0.000000001), (0.000000002), (0.000000004)) v(x);
SELECT variance(DISTINCT s), stddev(s) FILTER (WHERE g < 3), var_pop(g * 1.5) FROM figures;
SELECT g, stddev(i) OVER (PARTITION BY g), variance(d) OVER (ORDER BY g, s ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), round(var_pop(f) OVER (ORDER BY g, s)::numeric, 6) FROM figures WHERE g <> 2 ORDER BY g, s;
SELECT stddev('1');
SELECT stddev('x');
SELECT stddev(true);
SELECT stddev(date '2024-01-01');
SELECT stddev(s, i) FROM figures;
SELECT g, bit_and(s), bit_or(s), bit_xor(s), bit_and(i), bit_or(i), bit_xor(i), bit_and(b), bit_or(b), bit_xor(b) FROM figures GROUP BY g ORDER BY g;
SELECT bit_and(s), bit_or(i), bit_xor(b), bit_xor(DISTINCT s) FROM figures;
SELECT bit_and(d) FROM figures;
SELECT bit_or(f) FROM figures;
SELECT bit_or('1');
SELECT g, bit_or(i) OVER (PARTITION BY g ORDER BY s) FROM figures WHERE g < 4 ORDER BY g, s;
DROP TABLE figures;
