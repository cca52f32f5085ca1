\set included 'by a script'
SELECT 'included' AS v;
