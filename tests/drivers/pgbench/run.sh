#!/bin/bash
# pgbench with scripts of its own in every query mode, pipelines, conditions, variables from results; and what the tables hold afterwards.
# Of its report only what is no measurement.
set -uo pipefail

bench() {
  pgbench -n --random-seed=7 "$@" >out 2>err
  echo "ended with $?"
  grep -E '^(query mode|number of (clients|transactions actually|failed))' out
  # which client was first at an error is chance
  sed -E 's/client [0-9]+/client N/g; s/^pgbench \(.*$//' err | grep -v '^$'
}

ask() { psql -X -At -c "$1" 2>&1; }

ask "CREATE TABLE accounts (aid integer PRIMARY KEY, bid integer NOT NULL, abalance integer NOT NULL DEFAULT 0, filler text)" >/dev/null
ask "CREATE TABLE history (aid integer, delta integer, mtime timestamp, note varchar(20))" >/dev/null
for ((i = 1; i <= 200; i++)); do echo -e "$i\t1\t0\tx"; done | psql -X -q -c "COPY accounts FROM STDIN"

cat >move.sql <<'SQL'
\set aid random(1, 200)
\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM accounts WHERE aid = :aid \gset
INSERT INTO history (aid, delta, mtime, note) VALUES (:aid, :delta, CURRENT_TIMESTAMP, :aid || '/' || :delta);
END;
SQL
cat >pipeline.sql <<'SQL'
\set aid random(1, 200)
\set delta random(-5000, 5000)
\startpipeline
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM accounts WHERE aid = :aid;
INSERT INTO history (aid, delta, mtime, note) VALUES (:aid, :delta, CURRENT_TIMESTAMP, NULL);
END;
\endpipeline
SQL
cat >single.sql <<'SQL'
\set aid 1 + (:client_id * 7919) % 200
SELECT abalance AS was, bid FROM accounts WHERE aid = :aid \gset
\if :was > 1000000
SELECT 1/0;
\else
SELECT :was::integer + :bid::integer AS sum \aset
\endif
SELECT count(*) FROM accounts WHERE aid BETWEEN :aid AND :aid + 10;
SQL

for mode in simple extended prepared; do
  echo "== transactions, $mode"
  bench -M $mode -c 4 -j 2 -t 100 -f move.sql
  ask "SELECT (SELECT sum(abalance) FROM accounts) = (SELECT sum(delta) FROM history), (SELECT count(*) FROM history)"
  echo "== scripts, $mode"
  bench -M $mode -c 3 -t 50 -f single.sql@3 -f move.sql@1
  echo "== connecting each time, $mode"
  bench -M $mode -c 2 -t 10 -C -f single.sql
done
for mode in extended prepared; do
  echo "== pipelines, $mode"
  bench -M $mode -c 4 -j 2 -t 100 -f pipeline.sql
  ask "SELECT (SELECT sum(abalance) FROM accounts) = (SELECT sum(delta) FROM history), (SELECT count(*) FROM history WHERE note IS NULL)"
done
echo "== pipelines, simple"
bench -M simple -c 1 -t 1 -f pipeline.sql
echo "== errors"
echo 'SELECT 1/0;' >wrong.sql
bench -M extended -c 1 -t 1 -f wrong.sql
printf 'BEGIN;\nSELECT 1/0;\nEND;\n' >wrong.sql
bench -M prepared -c 1 -t 3 -f wrong.sql
printf '\\startpipeline\nSELECT 1;\nSELECT 1/0;\nSELECT 2;\n\\endpipeline\n' >wrong.sql
bench -M extended -c 1 -t 1 -f wrong.sql
echo "== retries"
cat >meet.sql <<'SQL'
\set aid random(1, 3)
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE accounts SET abalance = abalance + 1 WHERE aid = :aid;
UPDATE accounts SET abalance = abalance - 1 WHERE aid = :aid % 3 + 1;
END;
SQL
bench --max-tries=1000 -M prepared -c 6 -j 2 -t 30 -f meet.sql
ask "SELECT (SELECT sum(abalance) FROM accounts) = (SELECT sum(delta) FROM history)"
echo "== initialisation"
# lines of progress come by the clock
pgbench -i -s 1 -q 2>&1 | tr '\r' '\n' | grep -v tuples | sed -E 's/[0-9.]+ s\b/N s/g; s/\([^)]*\)//g'
ask "SELECT count(*), sum(abalance), min(filler), length(min(filler)) FROM pgbench_accounts"
ask "SELECT (SELECT count(*) FROM pgbench_branches), (SELECT count(*) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_history)"
for mode in simple extended prepared; do
  echo "== tpcb-like, $mode"
  bench -M $mode -c 4 -j 2 -t 50 -b tpcb-like
  ask "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_history)"
done
echo "== the other built-in scripts"
bench -M prepared -c 2 -t 50 -b simple-update
bench -M prepared -c 2 -t 50 -S
