// Go's lib/pq through database/sql: text parameters, binary results of prepared statements, COPY, contexts, errors with their fields, LISTEN.
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	. "facts"
)

var db *sql.DB

func describe(err error) string {
	var e *pq.Error
	if !errors.As(err, &e) {
		return "in the library: " + err.Error()
	}
	s := fmt.Sprintf("%s %s %s", e.Severity, e.Code, e.Message)
	for _, f := range [][2]string{{"detail", e.Detail}, {"hint", e.Hint}, {"position", e.Position}, {"where", e.Where}, {"schema", e.Schema}, {"table", e.Table}, {"column", e.Column}, {"constraint", e.Constraint}} {
		if f[1] != "" {
			s += " " + f[0] + "=" + f[1]
		}
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

type querier interface {
	QueryContext(context.Context, string, ...interface{}) (*sql.Rows, error)
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
}

func shown(v interface{}) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		if strings.IndexByte(string(v), 0) >= 0 {
			return "bytes " + hex.EncodeToString(v)
		}
		return "bytes " + string(v)
	case time.Time:
		return "time " + v.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%T %v", v, v)
}

func read(r *sql.Rows, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		types, err := r.ColumnTypes()
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, t := range types {
			p, s, ok := t.DecimalSize()
			l, _ := t.Length()
			names = append(names, fmt.Sprint(t.Name(), " ", t.DatabaseTypeName(), " ", p, s, ok, l))
		}
		all = append(all, strings.Join(names, ", "))
		for r.Next() {
			cells, at := make([]interface{}, len(types)), make([]interface{}, len(types))
			for i := range cells {
				at[i] = &cells[i]
			}
			if err := r.Scan(at...); err != nil {
				return nil, err
			}
			row := []string{}
			for _, c := range cells {
				row = append(row, shown(c))
			}
			all = append(all, "("+strings.Join(row, ", ")+")")
		}
		if !r.NextResultSet() {
			return all, r.Err()
		}
	}
}

func query(q querier, text string, values ...interface{}) {
	name := text
	if len(values) > 0 {
		cells := []string{}
		for _, v := range values {
			cells = append(cells, shown(v))
		}
		name += " [" + strings.Join(cells, ", ") + "]"
	}
	ask(name, func() (interface{}, error) { return read(q.QueryContext(context.Background(), text, values...)) })
}

func exec(q querier, text string, values ...interface{}) {
	ask(text, func() (interface{}, error) {
		r, err := q.ExecContext(context.Background(), text, values...)
		if err != nil {
			return nil, err
		}
		n, _ := r.RowsAffected()
		return n, nil
	})
}

func connect(more string) *sql.DB {
	c, err := sql.Open("postgres", "sslmode=disable "+more)
	Must(err)
	return c
}

func main() {
	Section("connect")
	db = connect("")
	db.SetMaxOpenConns(1)
	ask("ping", func() (interface{}, error) { return "pong", db.Ping() })
	for _, more := range []string{"password=wrong", "user=nobody-there", "dbname=no-such-database", "statement_timeout=77", "statement_timeout=abc", "no_such_setting=1", "options='-c statement_timeout=78'"} {
		ask(more, func() (interface{}, error) {
			c := connect(more)
			defer c.Close()
			return read(c.Query("SHOW statement_timeout"))
		})
	}
	ask("sslmode=require", func() (interface{}, error) {
		c, err := sql.Open("postgres", "sslmode=require")
		Must(err)
		defer c.Close()
		return nil, c.Ping()
	})

	for _, binary := range []string{"no", "yes"} {
		c := connect("binary_parameters=" + binary)
		c.SetMaxOpenConns(1)
		Section("types, binary_parameters=" + binary)
		for _, v := range Values() {
			var text interface{}
			if v.Text != nil {
				text = *v.Text
			}
			query(c, "SELECT $1::"+v.Type+" AS v", text)
		}
		Section("types, prepared, binary_parameters=" + binary)
		for _, v := range Values() {
			ask(v.Type+" "+func() string { if v.Text == nil { return "NULL" }; return *v.Text }(), func() (interface{}, error) {
				s, err := c.Prepare("SELECT $1::" + v.Type + " AS v, 1::smallint, 2::integer, 3::bigint")
				if err != nil {
					return nil, err
				}
				defer s.Close()
				return read(s.Query(v.Text))
			})
		}
		Section("types of Go, binary_parameters=" + binary)
		for _, v := range []interface{}{int64(-1 << 63), 0.1, true, "ä'\\", []byte("\x00\xff"), time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC), nil} {
			query(c, "SELECT $1::text", v)
			query(c, "SELECT $1", v)
		}
		query(c, "SELECT $1::timestamptz, $1::date", time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.FixedZone("", -8*3600)))
		query(c, "SELECT $1::bytea, $2::bigint + 1, $3::double precision, $4::boolean", []byte("\x00\\'\xff"), int64(41), 1e300, false)
		c.Close()
	}

	Section("statements")
	exec(db, "CREATE TABLE things (id integer PRIMARY KEY, n numeric(8,2), d date, t varchar(7), u integer UNIQUE)")
	exec(db, "INSERT INTO things VALUES ($1, $2, $3, $4, $5), (2, NULL, NULL, NULL, NULL)", 1, "1.5", "2024-02-29", "ä", 7)
	query(db, "SELECT * FROM things ORDER BY id")
	query(db, "SELECT id FROM things WHERE n > $1 AND d = $2 AND id IN ($3, $4) LIMIT $5", "1", "2024-02-29", 1, 2, 10)
	query(db, "UPDATE things SET t = $1 WHERE id = $2 RETURNING id, t", "new", 2)
	query(db, "SELECT $1 + 1", 41)
	query(db, "SELECT $1 || $2", "a", "b")
	query(db, "SELECT $1", 1)
	query(db, "SELECT $1::integer", "x")
	query(db, "SELECT 1; SELECT 'a' AS b, 2")
	query(db, "SELECT 1; SELECT 1/0")
	query(db, "")
	exec(db, "SELECT 1, 2")
	for _, text := range []string{"INSERT INTO things VALUES (1)", "INSERT INTO things (id, u) VALUES (3, 7)", "INSERT INTO things (id) VALUES (NULL)", "INSERT INTO things (id, t) VALUES (4, '12345678')", "SELECT nothing FROM things",
		"SELECT * FROM nowhere", "SELEC", "SELECT nosuch(1)", "SELECT ä"} {
		exec(db, text)
		exec(db, text+" ", nil)
	}
	s, err := db.Prepare("SELECT * FROM things WHERE id = $1")
	Must(err)
	ask("prepared", func() (interface{}, error) { return read(s.Query(1)) })
	exec(db, "CREATE TABLE others (a integer)")
	s2, err := db.Prepare("SELECT * FROM others")
	Must(err)
	ask("others", func() (interface{}, error) { return read(s2.Query()) })
	exec(db, "DROP TABLE others")
	exec(db, "CREATE TABLE others (a integer, b text)")
	ask("others changed", func() (interface{}, error) { return read(s2.Query()) })

	Section("transactions")
	for _, o := range []*sql.TxOptions{nil, {Isolation: sql.LevelSerializable, ReadOnly: true}, {Isolation: sql.LevelRepeatableRead}, {Isolation: sql.LevelReadUncommitted}} {
		tx, err := db.BeginTx(context.Background(), o)
		Must(err)
		query(tx, "SHOW transaction_isolation")
		query(tx, "SHOW transaction_read_only")
		exec(tx, "DELETE FROM others")
		Must(tx.Rollback())
	}
	tx, err := db.Begin()
	Must(err)
	exec(tx, "INSERT INTO things (id) VALUES (10)")
	exec(tx, "SAVEPOINT a")
	exec(tx, "INSERT INTO things (id) VALUES (10)")
	exec(tx, "SELECT 1")
	exec(tx, "ROLLBACK TO a")
	exec(tx, "INSERT INTO things (id) VALUES (11)")
	ask("commit", func() (interface{}, error) { return "done", tx.Commit() })
	tx, err = db.Begin()
	Must(err)
	exec(tx, "SELECT 1/0")
	ask("commit of a failed one", func() (interface{}, error) { return "done", tx.Commit() })
	query(db, "SELECT count(*) FROM things")

	Section("COPY")
	exec(db, "CREATE TABLE copied (a integer, b text, c bytea)")
	copyIn := func(last ...interface{}) (interface{}, error) {
		tx, err := db.Begin()
		Must(err)
		defer tx.Rollback()
		s, err := tx.Prepare(pq.CopyIn("copied", "a", "b", "c"))
		if err != nil {
			return nil, err
		}
		for i := 0; i < 5000; i++ {
			if _, err := s.Exec(i, fmt.Sprintf("ä\t%d\\\n", i), []byte{0, byte(i)}); err != nil {
				return nil, err
			}
		}
		if last != nil {
			if _, err := s.Exec(last...); err != nil {
				return nil, err
			}
		}
		if _, err := s.Exec(); err != nil {
			return nil, err
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
		return "done", tx.Commit()
	}
	ask("in", func() (interface{}, error) { return copyIn() })
	ask("in, a wrong row", func() (interface{}, error) { return copyIn("x", nil, nil) })
	query(db, "SELECT count(*), sum(a), min(b), max(c) FROM copied")

	Section("contexts")
	for _, text := range []string{"SELECT pg_sleep(100)", "SELECT pg_sleep($1)"} {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		values := []interface{}{}
		if strings.Contains(text, "$") {
			values = append(values, 100)
		}
		ask(text, func() (interface{}, error) { return read(db.QueryContext(ctx, text, values...)) })
		cancel()
		query(db, "SELECT 'still here'")
	}

	Section("notices")
	base, err := pq.NewConnector("sslmode=disable")
	Must(err)
	noticed := sql.OpenDB(pq.ConnectorWithNoticeHandler(base, func(e *pq.Error) { Fact("notice", describe(e)) }))
	noticed.SetMaxOpenConns(1)
	exec(noticed, "DROP TABLE IF EXISTS nowhere")
	exec(noticed, "CREATE TABLE IF NOT EXISTS things (a integer)")
	noticed.Close()

	Section("large values")
	text, raw := strings.Repeat("äx€z", 1000000), []byte(strings.Repeat("\x00\xff\\'\x80", 2000000))
	for _, binary := range []string{"no", "yes"} {
		c := connect("binary_parameters=" + binary)
		var t string
		var b []byte
		var n int
		Must(c.QueryRow("SELECT $1::text, $2::bytea, length($1)", text, raw).Scan(&t, &b, &n))
		Fact("there and back", fmt.Sprint(t == text, string(b) == string(raw), n, Digest(b)))
		c.Close()
	}
	places, values := []string{}, []interface{}{}
	for i := 1; i <= 5000; i++ {
		places, values = append(places, fmt.Sprintf("$%d", i)), append(values, i)
	}
	ask("5,000 parameters", func() (interface{}, error) { return read(db.Query("SELECT count(*) FROM copied WHERE a IN ("+strings.Join(places, ", ")+")", values...)) })

	Section("many connections")
	many := connect("")
	done := make(chan int)
	for i := 0; i < 20; i++ {
		go func(i int) {
			sum := 0
			for k := 0; k < 20; k++ {
				var v int
				Must(many.QueryRow("SELECT $1::integer * 2", i).Scan(&v))
				sum += v
			}
			done <- sum
		}(i)
	}
	sum := 0
	for i := 0; i < 20; i++ {
		sum += <-done
	}
	Fact("sum", sum)

}
