# psqlODBC through unixODBC's isql: every value as text, prepared by the server or not, read through a cursor of the server or not; errors, NULLs, transactions.
set -u
for prepare in 0 1; do
  for declare in 0 1; do
    echo "== UseServerSidePrepare=$prepare UseDeclareFetch=$declare"
    {
      echo "DROP TABLE IF EXISTS things"
      echo "CREATE TABLE things (id integer PRIMARY KEY, b boolean, n numeric(8,2), t varchar(10), d date, ts timestamp, f double precision, by bytea, u uuid)"
      echo "INSERT INTO things VALUES (1, true, 1.5, 'ä€', '2024-02-29', '2024-02-29 01:02:03.5', 0.1, '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
      echo "SELECT * FROM things ORDER BY id"
      for sql in "INSERT INTO things VALUES (1)" "SELECT 1/0" "SELECT nothing FROM things" "SELEC" "SELECT * FROM nowhere" "SELECT 'x'::integer AS v"; do echo "$sql"; done
      echo "UPDATE things SET n = 2 WHERE id < 10"
      echo "INSERT INTO things (id) WITH RECURSIVE g(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM g WHERE i < 499) SELECT i FROM g"
      echo "SELECT id FROM things WHERE id > 5 ORDER BY id"
      echo "SELECT count(*) AS n, sum(id) AS s FROM things"
      while IFS=$'\t' read -r type _ value; do
        case $type in
        \#* | bytea) ;;
        *) [[ $value == '\N' ]] && echo "SELECT NULL::$type AS v" || echo "SELECT '${value//\'/\'\'}'::$type AS v" ;;
        esac
      done <"$LIB/values"
    } | isql -v -b -k "Driver=PostgreSQL Unicode;Server=$PGHOST;Port=$PGPORT;Database=$PGDATABASE;Uid=$PGUSER;Pwd=$PGPASSWORD;UseServerSidePrepare=$prepare;UseDeclareFetch=$declare;Fetch=70" 2>&1 |
      tr -s ' -' # columns as wide as their types
  done
done
echo "== a wrong password"
echo "SELECT 1" | isql -v -b -k "Driver=PostgreSQL Unicode;Server=$PGHOST;Port=$PGPORT;Database=$PGDATABASE;Uid=$PGUSER;Pwd=wrong" 2>&1 | sed 's/connection to .* failed: //'
