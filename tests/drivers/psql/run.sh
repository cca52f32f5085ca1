#!/bin/bash
# The script, with errors and notices among the results; then options of psql's command line.
set -uo pipefail
cp "$HERE/included.sql" .
# \c's failures name the port, which differs from server to server
mask() { sed -E "s/$PGPORT/PORT/g"; }
psql -X -a -f "$HERE/client.sql" 2>&1 | mask
echo "== options"
psql -X -c 'SELECT 1' -c 'SELECT 2 AS b' 2>&1
psql -X -c 'CREATE TABLE x (a integer); INSERT INTO x VALUES (1); SELECT 1/0' -c 'SELECT * FROM x' 2>&1
psql -X -1 -c 'CREATE TABLE y (a integer)' -c 'SELECT 1/0' 2>&1
psql -X -c 'SELECT * FROM y' 2>&1
psql -X -v ON_ERROR_STOP=1 -c 'SELECT 1/0' -c 'SELECT 2' 2>&1
echo "status $?"
psql -X -A -F ';' -P footer=off -v v=7 2>&1 <<<'SELECT :v AS v, 2 AS b;'
psql -X --csv -c 'SELECT id, name FROM t ORDER BY id' 2>&1
psql -X -s -c 'SELECT 3' 2>&1 </dev/null | cat
PGOPTIONS='-c statement_timeout=4321' psql -X -At -c 'SHOW statement_timeout' 2>&1
PGAPPNAME=named psql -X -At -c 'SHOW application_name' 2>&1
PGPASSWORD=wrong psql -X -w -c 'SELECT 1' 2>&1 | mask
psql -X -h "$PGSOCKET" -At -c 'SELECT 1' 2>&1
echo "== interrupted"
# ^C cancels the statement, and psql ends; whether it still says that it sent the request is a matter of time
timeout --preserve-status -s INT 1 psql -X -At -c 'SELECT pg_sleep(100)' 2>&1 | grep -v '^Cancel request sent'
psql -X -At -c "SELECT 'still here'" 2>&1
