-- functions of numbers and text that do not fit elsewhere
SELECT x, sinh(x), cosh(x), tanh(x), asinh(x) FROM (VALUES (0::float8), (1), (-0.5), (710), (-1000), ('Infinity'), ('-Infinity'), ('NaN')) v(x);
SELECT x, acosh(x) FROM (VALUES (1::float8), (2.5), (1e300), ('Infinity'), ('NaN')) v(x);
SELECT x, atanh(x) FROM (VALUES (-1::float8), (-0.25), (0), (0.5), (1), ('NaN')) v(x);
SELECT acosh(0.5);
SELECT atanh(1.5);
SELECT cot(0::float8), cot(1), cot(-2.5), cot('NaN'::float8);
SELECT cot('Infinity'::float8);
SELECT n, factorial(n) FROM (VALUES (0), (1), (5), (20), (21), (33)) v(n);
SELECT factorial(-1);
SELECT n, scale(n), min_scale(n), trim_scale(n) FROM (VALUES (1.500::numeric), (0), (0.00), (-120.0100), (100), ('NaN'), ('Infinity'), (NULL)) v(n);
SELECT scale(1.50), min_scale(8.4100), trim_scale(8.4100), scale(d), trim_scale(d) FROM (VALUES (1.20::numeric(12,4))) v(d);
SELECT overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abcdef' placing 'zz' from 3), overlay('äöüß' placing '日本' from 2 for 1), overlay('abc' placing 'X' from 9), overlay('abc', 'X', 2, 0), overlay('abc', 'X', 3, -2), overlay('abc' placing '' from 1 for 2);
SELECT overlay('abc' placing 'X' from 0);
SELECT overlay('abc' placing 'X' from -1);
SELECT overlay('abc' placing 'X' from 2147483647 for 2147483647);
SELECT overlay(NULL placing 'X' from 1);
