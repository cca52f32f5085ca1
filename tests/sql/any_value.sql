-- any_value is of PostgreSQL 16; of one row, or of equal ones, it is no choice
CREATE TABLE agg_any (k integer, v numeric(6,2), t text, flag boolean, a integer[]);
SELECT any_value(v), any_value(t) FROM agg_any;
INSERT INTO agg_any VALUES (1, NULL, 'a', true, '{1,2}'), (1, 2.50, NULL, NULL, NULL), (2, 1, 'b', false, '{3}');
SELECT k, any_value(v), any_value(t), any_value(flag), any_value(a) FROM agg_any GROUP BY k ORDER BY k;
SELECT any_value(v ORDER BY v DESC), any_value(t ORDER BY t DESC), any_value(DISTINCT k) FILTER (WHERE k = 2) FROM agg_any;
SELECT any_value(NULL) FROM agg_any;
SELECT any_value() FROM agg_any;
DROP TABLE agg_any;
