-- What a PostgreSQL needs to answer the correlated questions in minutes: ggs3db has no such indexes, and does without.
CREATE INDEX ON lineitem (l_partkey, l_suppkey);
CREATE INDEX ON orders (o_custkey);
CREATE INDEX ON partsupp (ps_suppkey);
