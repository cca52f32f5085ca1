DROP TABLE IF EXISTS ra, rb, rc;
CREATE TABLE ra (id int PRIMARY KEY, t text, x int);
CREATE TABLE rb (id int PRIMARY KEY, t text, x int);
CREATE TABLE rc (x int, id int PRIMARY KEY, t text);
INSERT INTO ra VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3), (4, 'd', NULL);
INSERT INTO rb VALUES (1, 'a', 1), (2, 'x', 3), (5, NULL, 2), (6, 'd', NULL), (7, 'e', 7);
INSERT INTO rc SELECT a.x + 10 * b.x, a.x + 10 * b.x, 't' || a.x FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) a (x), (VALUES (0), (1), (2), (3), (4)) b (x);
SELECT a.id, b.id FROM ra a RIGHT JOIN rb b ON a.t = b.t AND b.id IS DISTINCT FROM a.id ORDER BY 1, 2;
SELECT b.id FROM rb b WHERE CASE WHEN '0' >= b.t THEN b.t ELSE b.t END IN ('d', 'e') ORDER BY 1;
-- a sub-query that is a plain scan is no table to look keys up in
SELECT a.id, c.t FROM ra a JOIN (SELECT * FROM rc WHERE x <> 3) c ON c.x = a.id WHERE a.id = 1;
SELECT a.id, c.t FROM ra a LEFT JOIN (SELECT * FROM rc WHERE NOT (id = 2)) c ON c.id = a.id WHERE a.id IN (1, 2) ORDER BY 1;
SELECT a.id, c.t FROM ra a LEFT JOIN (SELECT id, x + 1 AS y, t FROM rc) c ON c.id = a.id WHERE a.id IN (1, 2) ORDER BY 1;
SELECT a.id, c.t FROM ra a LEFT JOIN (SELECT t, id FROM rc) c ON c.id = a.id WHERE a.id = 2;
SELECT b.x FROM ra a JOIN (SELECT * FROM rb ORDER BY id LIMIT 28) b ON b.id = a.id LEFT JOIN (SELECT * FROM rc WHERE NOT (id = 3)) c ON c.id = b.x ORDER BY 1;
DROP TABLE ra, rb, rc;
