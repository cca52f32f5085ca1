# pgbouncer in front: one pool in session mode, one in transaction mode, DISCARD ALL between clients in both; SCRAM to the server and from the clients.
# What clients see through it, one after another and several at once; then what the next client finds of the settings of the one before.
set -u
server_port=$PGPORT
real=$PGPASSWORD
export PGDATABASE PGPORT
cp "$HERE/client.py" .
cat >pgbouncer.ini <<EOF
[databases]
session = host=127.0.0.1 port=$server_port dbname=$PGDATABASE pool_mode=session pool_size=3
transaction = host=127.0.0.1 port=$server_port dbname=$PGDATABASE pool_mode=transaction pool_size=2
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 0
unix_socket_dir =
auth_type = scram-sha-256
auth_file = users
server_reset_query_always = 1
max_client_conn = 100
ignore_startup_parameters = extra_float_digits,options
logfile = log
EOF
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/listen_port = 0/listen_port = $port/" pgbouncer.ini
printf '"%s" "%s"\n' "$PGUSER" "$real" >users
as=()
[[ $(id -u) -eq 0 ]] && as=(setpriv --reuid=postgres --regid=postgres --clear-groups) && chmod 755 . && chown postgres . ./*
"${as[@]}" pgbouncer -q pgbouncer.ini >out 2>&1 &
bouncer=$!
trap 'kill $bouncer; wait $bouncer 2>/dev/null' EXIT
export PGPORT=$port
for _ in $(seq 1000); do
  PGDATABASE=session pg_isready -q && break
  sleep 0.05
done
for mode in session transaction; do
  PGDATABASE=$mode /usr/bin/python3 client.py "$mode" || { cat log; exit 1; }
  echo "== $mode: pgbench"
  export PGDATABASE=$mode
  psql -XqAt -c 'DROP TABLE IF EXISTS pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history' \
    -c 'CREATE TABLE pgbench_branches (bid integer PRIMARY KEY, bbalance integer, filler char(88))' \
    -c 'CREATE TABLE pgbench_tellers (tid integer PRIMARY KEY, bid integer, tbalance integer, filler char(84))' \
    -c 'CREATE TABLE pgbench_accounts (aid integer PRIMARY KEY, bid integer, abalance integer, filler char(84))' \
    -c 'CREATE TABLE pgbench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler char(22))' 2>/dev/null
  pgbench -i -I g -q >/dev/null 2>pgbench.err || cat pgbench.err
  # Statements prepared on a server connection are not known on the next one: pgbouncer 1.18 cannot prepare in transaction mode.
  for protocol in simple extended; do
    pgbench -n -M $protocol -c 8 -j 2 -t 20 2>pgbench.err | grep 'actually processed\|failed transactions'
    grep -v '^$' pgbench.err
  done
  psql -XAt -c 'SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history) FROM pgbench_accounts'
done
