// Go's pgx 4: described statements and binary values both ways, statement caches and the simple protocol, batches, CopyFrom, contexts, errors with their fields.
package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"

	. "facts"
)

var ctx = context.Background()

func describe(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if i := strings.LastIndex(err.Error(), "): "); i >= 0 { // after the address
			return "in the library: " + err.Error()[i+3:]
		}
		return "in the library: " + err.Error()
	}
	s := fmt.Sprintf("%s %s %s", e.Severity, e.Code, e.Message)
	for _, f := range [][2]string{{"detail", e.Detail}, {"hint", e.Hint}, {"where", e.Where}, {"schema", e.SchemaName}, {"table", e.TableName}, {"column", e.ColumnName}, {"constraint", e.ConstraintName}} {
		if f[1] != "" {
			s += " " + f[0] + "=" + f[1]
		}
	}
	if e.Position != 0 {
		s += fmt.Sprint(" position=", e.Position)
	}
	return s
}

func ask(name string, work func() (interface{}, error)) {
	v, err := work()
	if err != nil {
		v = describe(err)
	}
	Fact(name, v)
}

func shown(v interface{}) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("bytes %x", v)
	case time.Time:
		return "time " + v.UTC().Format(time.RFC3339Nano)
	case string:
		return "string " + v
	case fmt.Stringer:
		return fmt.Sprintf("%T %s", v, v)
	case map[string]interface{}:
		keys := []string{}
		for k := range v {
			keys = append(keys, k+"="+shown(v[k]))
		}
		sort.Strings(keys)
		return strings.Join(keys, " ")
	}
	return fmt.Sprintf("%T %v", v, v)
}

type querier interface {
	Query(context.Context, string, ...interface{}) (pgx.Rows, error)
	Exec(context.Context, string, ...interface{}) (pgconn.CommandTag, error)
}

func read(r pgx.Rows, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	names := []string{}
	for _, f := range r.FieldDescriptions() {
		names = append(names, fmt.Sprint(string(f.Name), " ", f.DataTypeOID, " ", f.DataTypeSize, " ", f.TypeModifier, " ", f.Format))
	}
	all := []string{strings.Join(names, ", ")}
	for r.Next() {
		v, err := r.Values()
		if err != nil {
			return nil, err
		}
		row := []string{}
		for _, c := range v {
			row = append(row, shown(c))
		}
		all = append(all, "("+strings.Join(row, ", ")+")")
	}
	return append(all, string(r.CommandTag())), r.Err()
}

func query(q querier, text string, values ...interface{}) {
	cells := []string{}
	for _, v := range values {
		cells = append(cells, shown(v))
	}
	ask(strings.TrimSpace(text+" "+strings.Join(cells, ", ")), func() (interface{}, error) { return read(q.Query(ctx, text, values...)) })
}

func exec(q querier, text string, values ...interface{}) {
	ask(text, func() (interface{}, error) { return q.Exec(ctx, text, values...) })
}

func connect(more string) (*pgx.Conn, error) { return pgx.Connect(ctx, "sslmode=prefer "+more) }

func must(more string) *pgx.Conn {
	c, err := connect(more)
	Must(err)
	return c
}

func session(mode string) {
	db := must(mode)
	defer db.Close(ctx)
	Section("types, " + mode)
	for _, v := range Values() {
		var text interface{}
		if v.Text != nil {
			text = *v.Text
		}
		query(db, "SELECT $1::text::"+v.Type+" AS v", text)
	}
	Section("types of Go, " + mode)
	for _, c := range []struct {
		t string
		v interface{}
	}{{"smallint", int16(-7)}, {"integer", int32(-1 << 31)}, {"bigint", int64(1<<63 - 1)}, {"real", float32(1.5)}, {"double precision", 0.1}, {"boolean", true}, {"text", "ä'\\"}, {"varchar", ""}, {"bytea", []byte("\x00\xff\\'")},
		{"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}, {"timestamp", time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)}, {"timestamptz", time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.FixedZone("", -8*3600))},
		{"numeric", "123.4500"}, {"uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {"jsonb", map[string]interface{}{"b": 1, "a": []int{1}}}, {"json", "[1, 2]"}, {"interval", time.Hour}, {"integer", nil}, {"oid", uint32(4294967295)}} {
		query(db, "SELECT $1::"+c.t+" AS v", c.v)
	}
	Section("statements, " + mode)
	exec(db, "CREATE TABLE things (id integer PRIMARY KEY, n numeric(8,2), d date, t varchar(7), u integer UNIQUE)")
	exec(db, "INSERT INTO things VALUES ($1, $2, $3, $4, $5), (2, NULL, NULL, NULL, NULL)", 1, "1.5", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "ä", 7)
	for i := 0; i < 3; i++ {
		query(db, "SELECT * FROM things ORDER BY id")
	}
	query(db, "SELECT id FROM things WHERE n > $1 AND d = $2 AND id IN ($3, $4) LIMIT $5", "1", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), 1, 2, 10)
	query(db, "UPDATE things SET t = $1 WHERE id = $2 RETURNING id, t", "new", 2)
	query(db, "SELECT $1::integer + 1", 41)
	query(db, "SELECT 1")
	query(db, "")
	for _, text := range []string{"INSERT INTO things VALUES (1)", "INSERT INTO things (id, u) VALUES (3, 7)", "INSERT INTO things (id) VALUES (NULL)", "INSERT INTO things (id, t) VALUES (4, '12345678')", "SELECT nothing FROM things",
		"SELECT * FROM nowhere", "SELEC", "SELECT nosuch(1)", "SELECT 1/0"} {
		exec(db, text)
	}
	exec(db, "CREATE TABLE others (a integer)")
	query(db, "SELECT * FROM others")
	exec(db, "DROP TABLE others")
	exec(db, "CREATE TABLE others (a integer, b text)")
	query(db, "SELECT * FROM others")
	query(db, "SELECT * FROM others")
	exec(db, "DROP TABLE others")
	exec(db, "DROP TABLE things")
}

func main() {
	Section("connect")
	db := must("")
	for _, n := range []string{"server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone", "IntervalStyle", "integer_datetimes", "is_superuser", "session_authorization", "standard_conforming_strings"} {
		Fact(n, db.PgConn().ParameterStatus(n))
	}
	for _, more := range []string{"password=wrong", "user=nobody-there", "database=no-such-database", "statement_timeout=77", "statement_timeout=abc", "no_such_setting=1", "sslmode=require", "target_session_attrs=read-write"} {
		ask(more, func() (interface{}, error) {
			c, err := connect(more)
			if err != nil {
				return nil, err
			}
			defer c.Close(ctx)
			return read(c.Query(ctx, "SHOW statement_timeout"))
		})
	}
	for _, mode := range []string{"statement_cache_mode=prepare", "statement_cache_mode=describe", "statement_cache_capacity=0"} {
		session(mode)
	}

	Section("simple protocol")
	config, err := pgx.ParseConfig("sslmode=disable")
	Must(err)
	config.PreferSimpleProtocol = true
	simple, err := pgx.ConnectConfig(ctx, config)
	Must(err)
	for _, v := range []interface{}{int64(-5), 0.1, true, "a'b\\ä", []byte("\x00\xff"), nil, time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)} {
		query(simple, "SELECT $1 AS v", v)
	}
	simple.Close(ctx)

	Section("described")
	for i, text := range []string{"SELECT $1 + 1", "SELECT $1 || $2", "SELECT coalesce($1, 1.5)", "SELECT $1", "SELECT 1 LIMIT $1", "SELECT CASE WHEN $1 THEN $2 ELSE 'x' END", "SELECT $2::date", "SELECT nothing", "SELECT $1 = $2"} {
		ask(text, func() (interface{}, error) {
			d, err := db.Prepare(ctx, fmt.Sprint("p", i), text)
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(d.ParamOIDs, " ", d.Fields[0].DataTypeOID), nil
		})
	}
	ask("deallocate", func() (interface{}, error) { return "done", db.Deallocate(ctx, "p0") })

	Section("transactions")
	exec(db, "CREATE TABLE moves (id integer PRIMARY KEY)")
	for _, o := range []pgx.TxOptions{{}, {IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable}, {IsoLevel: pgx.RepeatableRead}} {
		tx, err := db.BeginTx(ctx, o)
		Must(err)
		query(tx, "SHOW transaction_isolation")
		exec(tx, "INSERT INTO moves VALUES (99)")
		Must(tx.Rollback(ctx))
	}
	tx, err := db.Begin(ctx)
	Must(err)
	exec(tx, "INSERT INTO moves VALUES (1)")
	inner, err := tx.Begin(ctx)
	Must(err)
	exec(inner, "INSERT INTO moves VALUES (1)")
	query(inner, "SELECT 1")
	Must(inner.Rollback(ctx))
	exec(tx, "INSERT INTO moves VALUES (2)")
	ask("commit", func() (interface{}, error) { return "done", tx.Commit(ctx) })
	tx, err = db.Begin(ctx)
	Must(err)
	exec(tx, "INSERT INTO moves VALUES (1)")
	ask("commit of a failed one", func() (interface{}, error) { return "done", tx.Commit(ctx) })
	query(db, "SELECT * FROM moves ORDER BY id")

	Section("batches")
	batch := func(texts ...string) {
		b := &pgx.Batch{}
		for _, t := range texts {
			if strings.Contains(t, "$1") {
				b.Queue(t, 7)
			} else {
				b.Queue(t)
			}
		}
		r := db.SendBatch(ctx, b)
		for _, t := range texts {
			ask(t, func() (interface{}, error) { return read(r.Query()) })
		}
		ask("close", func() (interface{}, error) { return "done", r.Close() })
	}
	batch("INSERT INTO moves VALUES ($1)", "SELECT $1::integer * 2", "SELECT count(*) FROM moves")
	batch("INSERT INTO moves VALUES (20)", "INSERT INTO moves VALUES (20)", "SELECT 3")
	batch("SELECT 1", "SELECT 1/$1", "SELECT 3")
	query(db, "SELECT count(*) FROM moves")

	Section("CopyFrom")
	exec(db, "CREATE TABLE copied (a integer, b text, c bytea, d double precision, e timestamptz, f date, g bigint, h boolean, i smallint)")
	when := time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)
	rows := [][]interface{}{}
	for i := 0; i < 5000; i++ {
		rows = append(rows, []interface{}{i, fmt.Sprint("ä", i), []byte{0, byte(i)}, float64(i) / 4, when.Add(time.Duration(i) * time.Second), when, int64(i) << 40, i%2 == 0, int16(i)})
	}
	rows = append(rows, make([]interface{}, 9))
	columns := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	ask("in", func() (interface{}, error) { return db.CopyFrom(ctx, pgx.Identifier{"copied"}, columns, pgx.CopyFromRows(rows)) })
	ask("into what is not there", func() (interface{}, error) { return db.CopyFrom(ctx, pgx.Identifier{"nowhere"}, columns, pgx.CopyFromRows(rows)) })
	_, err = db.CopyFrom(ctx, pgx.Identifier{"moves"}, []string{"id"}, pgx.CopyFromRows([][]interface{}{{500}, {500}}))
	Fact("a key twice", strings.Replace(describe(err), "COPY moves, line 2", "COPY moves", 1)) // ggs3db looks at keys when all rows are there
	query(db, "SELECT count(*), sum(a), max(b), sum(d), max(e), max(f), sum(g), sum(i) FROM copied")
	ask("a source that breaks", func() (interface{}, error) {
		return db.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"a"}, pgx.CopyFromSlice(30000, func(i int) ([]interface{}, error) {
			if i == 20000 {
				return nil, errors.New("broken")
			}
			return []interface{}{i}, nil
		}))
	})
	var out strings.Builder
	ask("out", func() (interface{}, error) {
		_, err := db.PgConn().CopyTo(ctx, &out, "COPY (SELECT a, b, d FROM copied WHERE a < 3 ORDER BY a) TO STDOUT CSV")
		return out.String(), err
	})

	Section("contexts")
	for _, text := range []string{"SELECT pg_sleep(100)", "SELECT pg_sleep($1)"} {
		c := must("")
		limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		values := []interface{}{}
		if strings.Contains(text, "$") {
			values = append(values, 100.0)
		}
		ask(text, func() (interface{}, error) { _, err := read(c.Query(limited, text, values...)); return nil, err })
		cancel()
		Fact("closed", c.IsClosed())
	}
	c := must("")
	time.AfterFunc(300*time.Millisecond, func() { Must(c.PgConn().CancelRequest(ctx)) })
	exec(c, "SELECT pg_sleep(100)")
	query(c, "SELECT 'still here'")
	c.Close(ctx)

	Section("notices")
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { Fact("notice", describe((*pgconn.PgError)(n))) }
	config.PreferSimpleProtocol = false
	noticed, err := pgx.ConnectConfig(ctx, config)
	Must(err)
	exec(noticed, "DROP TABLE IF EXISTS nowhere")
	exec(noticed, "COMMIT")
	noticed.Close(ctx)

	Section("large values")
	text, raw := strings.Repeat("äx€z", 1000000), []byte(strings.Repeat("\x00\xff\\'\x80", 2000000))
	var t string
	var b []byte
	var n int
	ask("there and back", func() (interface{}, error) {
		err := db.QueryRow(ctx, "SELECT $1::text, $2::bytea, length($1)", text, raw).Scan(&t, &b, &n)
		return fmt.Sprint(t == text, string(b) == string(raw), n, Digest(b)), err
	})
	places, values := []string{}, []interface{}{}
	for i := 1; i <= 5000; i++ {
		places, values = append(places, fmt.Sprintf("$%d", i)), append(values, i)
	}
	query5000 := "SELECT count(*) FROM copied WHERE a IN (" + strings.Join(places, ", ") + ")"
	ask("5,000 parameters", func() (interface{}, error) { return read(db.Query(ctx, query5000, values...)) })

	Section("arrays")
	query(db, "SELECT count(*) FROM moves WHERE id = ANY($1)", []int32{1, 2})
}
