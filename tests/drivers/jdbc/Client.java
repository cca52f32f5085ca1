/*
 * JDBC: every preferQueryMode with the prepare thresholds, fetch sizes, batches (rewritten ones too), generated keys, autosave, CopyManager, cancel and timeouts.
 */
import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.sql.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.Executors;
import org.postgresql.PGConnection;
import org.postgresql.copy.*;
import org.postgresql.util.*;

public class Client {
    interface Work {
        Object get() throws Exception;
    }

    static Connection db;

    static void section(String name) {
        System.out.println("== " + name);
    }

    static String text(Object v) {
        if (v == null)
            return "NULL";
        if (v instanceof byte[] b)
            return HexFormat.of().formatHex(b);
        if (v instanceof Object[] a)
            return Arrays.deepToString(a);
        if (v instanceof int[] a)
            return Arrays.toString(a);
        return v.toString();
    }

    static void fact(String name, Object v) {
        System.out.println((name + ": " + text(v)).replace("\n", "\\n").replace("\0", "\\0"));
    }

    /** The fields of an error; those the driver raises itself have none. */
    static String describe(SQLException e) {
        StringBuilder s = new StringBuilder(e.getClass().getSimpleName() + " " + e.getSQLState());
        ServerErrorMessage m = e instanceof PSQLException p ? p.getServerErrorMessage() : null;
        if (m == null)
            return s + " " + e.getMessage();
        s.append(" ").append(m.getSeverity()).append(" ").append(m.getMessage());
        Object[][] fields = {{"detail", m.getDetail()}, {"hint", m.getHint()}, {"position", m.getPosition()}, {"schema", m.getSchema()},
                             {"table", m.getTable()}, {"column", m.getColumn()}, {"type", m.getDatatype()}, {"constraint", m.getConstraint()}};
        for (Object[] f : fields)
            if (f[1] != null && !f[1].equals(0))
                s.append(" ").append(f[0]).append("=").append(f[1]);
        return s.toString();
    }

    /** What a piece of work yields, or its error and those after it. */
    static void ask(String name, Work work) throws Exception {
        try {
            fact(name, work.get());
        } catch (BatchUpdateException e) {
            fact(name, Arrays.toString(e.getUpdateCounts()) + " " + (e.getNextException() == null ? e.getMessage() : describe(e.getNextException())));
        } catch (SQLException e) {
            fact(name, describe(e));
        } catch (DateTimeException e) {
            fact(name, "in the driver: " + e.getMessage());
        }
    }

    static Connection connect(String... options) throws SQLException {
        Properties p = new Properties();
        p.setProperty("user", System.getenv("PGUSER"));
        p.setProperty("password", System.getenv("PGPASSWORD"));
        for (int i = 0; i < options.length; i += 2)
            p.setProperty(options[i], options[i + 1]);
        String database = p.getProperty("database", System.getenv("PGDATABASE"));
        p.remove("database");
        return DriverManager.getConnection("jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + database, p);
    }

    /** getString; of a bytea that came in binary it makes no text. */
    static String string(ResultSet r, int column) throws SQLException {
        String s = r.getString(column);
        return s != null && s.startsWith("[B@") ? "binary " + text(r.getBytes(column)) : text(s);
    }

    static List<String> rows(ResultSet r) throws SQLException {
        List<String> all = new ArrayList<>();
        ResultSetMetaData m = r.getMetaData();
        while (r.next()) {
            StringJoiner row = new StringJoiner(", ", "(", ")");
            for (int i = 1; i <= m.getColumnCount(); i++)
                row.add(string(r, i));
            all.add(row.toString());
        }
        return all;
    }

    static String columns(ResultSet r) throws SQLException {
        ResultSetMetaData m = r.getMetaData();
        StringJoiner s = new StringJoiner(", ");
        for (int i = 1; i <= m.getColumnCount(); i++)
            s.add(m.getColumnLabel(i) + " " + m.getColumnType(i) + " " + m.getColumnClassName(i) + " " + m.getPrecision(i) + "," + m.getScale(i));
        return s.toString();
    }

    /** Every result of what may be several statements. */
    static String run(Statement s, boolean result) throws SQLException {
        StringJoiner all = new StringJoiner("; ");
        while (true) {
            if (result)
                try (ResultSet r = s.getResultSet()) {
                    all.add(columns(r) + " " + rows(r));
                }
            else if (s.getUpdateCount() >= 0)
                all.add("changed " + s.getUpdateCount());
            else
                return all.toString();
            for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning())
                all.add(w.getSQLState() + " " + w.getMessage());
            s.clearWarnings();
            result = s.getMoreResults();
        }
    }

    static String run(String sql) throws SQLException {
        try (Statement s = db.createStatement()) {
            return run(s, s.execute(sql));
        }
    }

    static String run(String sql, Object... values) throws SQLException {
        try (PreparedStatement s = db.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++)
                s.setObject(i + 1, values[i]);
            return run(s, s.execute());
        }
    }

    static void tell(String sql) throws Exception {
        ask(sql, () -> run(sql));
    }

    static List<String[]> values() throws IOException {
        List<String[]> all = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(System.getenv("LIB"), "values")))
            if (!line.startsWith("#")) {
                String[] cells = line.split("\t", 3);
                all.add(new String[] {cells[0], cells[2].equals("\\N") ? null : cells[2]});
            }
        return all;
    }

    static void connecting() throws Exception {
        section("connect");
        try (Connection c = connect("ApplicationName", "drivers ä")) {
            DatabaseMetaData m = c.getMetaData();
            fact("server", m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion() + "." + m.getDatabaseMinorVersion());
            fact("user", m.getUserName());
            Map<String, String> status = new TreeMap<>(((PGConnection)c).getParameterStatuses());
            fact("statuses", status);
            fact("valid", c.isValid(20));
            fact("read only", c.isReadOnly() + " " + c.getAutoCommit() + " " + c.getTransactionIsolation() + " " + c.getCatalog());
            c.setClientInfo("ApplicationName", "other");
            fact("name", ((PGConnection)c).getParameterStatus("application_name"));
        }
        ask("options", () -> {
            try (Connection c = connect("options", "-c statement_timeout=12345 -c application_name=a\\ b"); Statement s = c.createStatement()) {
                return rows(s.executeQuery("SHOW statement_timeout")) + " " + rows(s.executeQuery("SHOW application_name"));
            }
        });
        ask("wrong password", () -> connect("password", "wrong"));
        ask("no such user", () -> connect("user", "nobody-there"));
        ask("no such database", () -> connect("database", "no-such-database"));
        ask("no such option", () -> connect("options", "-c no_such_setting=1"));
        ask("a server that is primary", () -> connect("targetServerType", "primary").isClosed());
        ask("a server that is secondary", () -> connect("targetServerType", "secondary"));
        ask("read only", () -> {
            try (Connection c = connect("readOnly", "true", "readOnlyMode", "always"); Statement s = c.createStatement()) {
                return s.executeUpdate("CREATE TABLE never (a integer)");
            }
        });
        ask("currentSchema", () -> {
            try (Connection c = connect("currentSchema", "public"); Statement s = c.createStatement()) {
                return rows(s.executeQuery("SHOW search_path"));
            }
        });
    }

    static String decoded(ResultSet r) throws SQLException {
        Object v = r.getObject(1);
        return v == null ? "NULL" : v.getClass().getSimpleName() + " " + text(v);
    }

    /** The driver asks pg_type for what it does not know by heart. */
    static boolean lookedUp(String type) {
        return type.equals("interval") || type.equals("jsonb");
    }

    /** Read often enough for named statements and binary results: what was seen, once each. */
    static Set<String> readOften(String sql, Object value, boolean object) throws SQLException {
        Set<String> seen = new LinkedHashSet<>();
        try (PreparedStatement s = db.prepareStatement(sql)) {
            for (int i = 0; i < 7; i++) {
                s.setObject(1, value);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    seen.add(string(r, 1) + (object ? " " + decoded(r) : ""));
                }
            }
        }
        return seen;
    }

    /** Text parameters cast by the server, read as text and as objects, until the driver has gone over to named statements and binary results. */
    static void types(String mode) throws Exception {
        section(mode + ": types, cast from text");
        for (String[] v : values())
            ask(v[0] + " " + v[1], () -> readOften("SELECT ?::" + v[0] + " AS v", v[1], !lookedUp(v[0])));
        section(mode + ": types, from Java's objects");
        Object[] some = {true, (short)-5, Integer.MIN_VALUE, Integer.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE, 1.5f, Float.NaN, Float.MIN_VALUE, Float.MAX_VALUE,
                         0.1, Double.NaN, Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, new BigDecimal("-12345678901234567890.000100"), new BigDecimal("1e37"),
                         "", "a'b\\c\"", "ä€🐘", new byte[0], new byte[] {0, 1, -1, 92, 39}, UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
                         LocalDate.of(2024, 2, 29), LocalDate.MIN, LocalDate.MAX, LocalDate.of(-43, 3, 15), LocalTime.of(1, 2, 3, 456789000), LocalTime.MAX,
                         LocalDateTime.of(2024, 2, 29, 1, 2, 3, 456789000), LocalDateTime.MIN, LocalDateTime.MAX, OffsetDateTime.of(2024, 2, 29, 1, 2, 3, 4000, ZoneOffset.ofHours(-8)),
                         OffsetDateTime.MIN, OffsetDateTime.MAX, OffsetTime.of(1, 2, 3, 0, ZoneOffset.ofHours(5))};
        String[] casts = {"boolean", "smallint", "integer", "integer", "bigint", "bigint", "real", "real", "real", "real",
                          "double precision", "double precision", "double precision", "double precision", "double precision", "numeric", "numeric",
                          "text", "text", "text", "bytea", "bytea", "uuid",
                          "date", "date", "date", "date", "time", "time",
                          "timestamp", "timestamp", "timestamp", "timestamptz",
                          "timestamptz", "timestamptz", "timetz"};
        for (int i = 0; i < some.length; i++) {
            Object v = some[i];
            String cast = casts[i];
            for (String sql : new String[] {"SELECT ?::" + cast, "SELECT ?"})
                ask(sql + " " + v.getClass().getSimpleName() + " " + text(v), () -> {
                    Set<String> seen = new LinkedHashSet<>();
                    try (PreparedStatement s = db.prepareStatement(sql)) {
                        for (int n = 0; n < 7; n++) {
                            s.setObject(1, v);
                            try (ResultSet r = s.executeQuery()) {
                                r.next();
                                Class<?> kind = v instanceof Short ? Integer.class : v.getClass();
                                seen.add(text(v instanceof byte[] ? r.getBytes(1) : r.getObject(1, kind)));
                            }
                        }
                    }
                    return seen;
                });
        }
        section(mode + ": types, stored");
        run("CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, v varchar(10), d date, ti time, "
            + "ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb, nm name, c \"char\", o oid)");
        String insert = "INSERT INTO stored VALUES (" + "?, ".repeat(13) + "?::interval, ?, ?, ?::json, ?::jsonb, ?, ?, ?)";
        boolean simple = mode.startsWith("simple"); // the driver has no literal for byte[]
        try (PreparedStatement s = db.prepareStatement(insert)) {
            Object[] row = {0, true, (short)-3, 1L << 40, 1.5f, 0.1, new BigDecimal("12.345"), "ä", "v", LocalDate.of(2024, 2, 29), LocalTime.of(12, 0),
                            LocalDateTime.of(2024, 1, 2, 3, 4, 5, 6000), OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 6000, ZoneOffset.UTC), "1 day 2 sec",
                            UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), simple ? null : new byte[] {0, 1, -1}, "{\"a\": 1}", "{\"b\": [2]}", "nm", "c", 4000000000L};
            for (int n = 0; n < 7; n++) {
                for (int i = 0; i < row.length; i++)
                    s.setObject(i + 1, row[i]);
                s.setInt(1, n);
                s.executeUpdate();
            }
            int[] nulls = {Types.INTEGER, Types.BIT, Types.SMALLINT, Types.BIGINT, Types.REAL, Types.DOUBLE, Types.NUMERIC, Types.VARCHAR, Types.VARCHAR, Types.DATE, Types.TIME,
                           Types.TIMESTAMP, Types.TIMESTAMP_WITH_TIMEZONE, Types.OTHER, Types.OTHER, Types.BINARY, Types.VARCHAR, Types.VARCHAR, Types.VARCHAR, Types.VARCHAR, Types.BIGINT};
            for (int i = 0; i < nulls.length; i++)
                s.setNull(i + 1, nulls[i]);
            s.setInt(1, 99);
            fact("NULLs", s.executeUpdate());
        }
        try (PreparedStatement s = db.prepareStatement("SELECT * FROM stored WHERE id >= ? ORDER BY id")) {
            for (int n = 0; n < 7; n++) {
                s.setInt(1, 5);
                try (ResultSet r = s.executeQuery()) {
                    fact("read", rows(r));
                }
            }
        }
        tell("SELECT id, b, i2, i8, f4, f8, n, t, v, d, ti, ts, tz, u, by, j, nm, c, o FROM stored WHERE id IN (1, 99) ORDER BY id");
        tell("DROP TABLE stored");
    }

    static void lookUps() throws Exception {
        section("types the driver looks up");
        for (String[] v : values())
            if (lookedUp(v[0]))
                ask(v[0] + " " + v[1], () -> readOften("SELECT ?::" + v[0] + " AS v", v[1], true));
        ask("PGInterval", () -> readOften("SELECT ?", new PGInterval("1 year -2 mons 3 days 04:05:06.7"), true));
        ask("updatable results", () -> {
            try (Statement s = db.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                run("CREATE TABLE updatable (id integer PRIMARY KEY, t text)");
                run("INSERT INTO updatable VALUES (1, 'a'), (2, 'b')");
                ResultSet r = s.executeQuery("SELECT id, t FROM updatable ORDER BY id");
                r.next();
                r.updateString(2, "x");
                r.updateRow();
                return run("SELECT * FROM updatable");
            }
        });
        ask("arrays", () -> {
            ResultSet r = db.createStatement().executeQuery("SELECT '{1,2,NULL}'::integer[]");
            r.next();
            return text(r.getArray(1).getArray());
        });
    }

    static void statements(String mode) throws Exception {
        section(mode + ": parameters' types");
        run("CREATE TABLE infer (a smallint, b numeric(6,2), c varchar(5), d timestamptz)");
        for (String sql : new String[] {"INSERT INTO infer VALUES (?, ?, ?, ?)", "SELECT a FROM infer WHERE b > ? AND c = ? AND d < ? LIMIT ?", "SELECT ? + 1", "SELECT ? || 'x'",
                                        "SELECT coalesce(?, 1)", "SELECT ?::date", "SELECT ? = ?", "UPDATE infer SET b = ? WHERE a = ?", "SELECT * FROM nowhere", "SELECT ?",
                                        "SELECT a FROM infer WHERE a IN (?, ?)", "SELECT a FROM infer WHERE a BETWEEN ? AND ?", "SELECT CASE WHEN ? THEN ? ELSE 1 END"})
            ask(sql, () -> {
                try (PreparedStatement s = db.prepareStatement(sql)) {
                    ParameterMetaData m = s.getParameterMetaData();
                    StringJoiner j = new StringJoiner(", ");
                    for (int i = 1; i <= m.getParameterCount(); i++)
                        j.add(m.getParameterTypeName(i) + " " + m.getParameterType(i));
                    ResultSetMetaData r = s.getMetaData();
                    return j + " -> " + (r == null ? "no result" : r.getColumnLabel(1) + " " + r.getColumnType(1));
                }
            });
        ask("setString for an integer", () -> run("SELECT a FROM infer WHERE a = ?", "1"));
        ask("setNull for anything", () -> run("SELECT a FROM infer WHERE b = ? OR d = ?", null, null));
        ask("an integer too large", () -> run("INSERT INTO infer (a) VALUES (?)", 70000));
        ask("text too long", () -> run("INSERT INTO infer (c) VALUES (?)", "sechs!"));
        ask("not a date", () -> run("SELECT ?::date", "x"));
        tell("DROP TABLE infer");

        section(mode + ": a statement over changed tables");
        run("CREATE TABLE changing (a integer, b text)");
        run("INSERT INTO changing VALUES (1, 'x')");
        try (PreparedStatement s = db.prepareStatement("SELECT * FROM changing WHERE a = ?")) {
            for (int n = 0; n < 12; n++) {
                if (n == 7) {
                    run("DROP TABLE changing");
                    run("CREATE TABLE changing (a integer, b text, c integer)");
                    run("INSERT INTO changing VALUES (1, 'y', 2)");
                }
                s.setInt(1, 1);
                ask("run " + n, () -> {
                    try (ResultSet r = s.executeQuery()) {
                        return rows(r);
                    }
                });
            }
            db.setAutoCommit(false);
            for (int n = 0; n < 12; n++) {
                if (n == 6) {
                    run("DROP TABLE changing");
                    run("CREATE TABLE changing (a bigint, b text)");
                    run("INSERT INTO changing VALUES (1, 'z')");
                    db.commit();
                }
                ask("run in a transaction " + n, () -> {
                    try (ResultSet r = s.executeQuery()) {
                        return rows(r);
                    }
                });
            }
            db.rollback();
            db.setAutoCommit(true);
            ask("run after it", () -> {
                try (ResultSet r = s.executeQuery()) {
                    return rows(r);
                }
            });
            run("DROP TABLE changing");
            ask("without the table", () -> s.executeQuery());
        }
        section(mode + ": statements dropped behind the driver's back");
        try (PreparedStatement s = db.prepareStatement("SELECT ?::integer + 1")) {
            for (int n = 0; n < 14; n++) {
                if (n == 7 || n == 12)
                    ask("dropped", () -> run("DEALLOCATE ALL"));
                s.setInt(1, n);
                ask("run " + n, () -> rows(s.executeQuery()));
            }
        }
    }

    static void transactions(String mode) throws Exception {
        section(mode + ": transactions");
        run("CREATE TABLE moves (id integer PRIMARY KEY, n integer NOT NULL)");
        for (int level : new int[] {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE}) {
            db.setTransactionIsolation(level);
            db.setAutoCommit(false);
            tell("SHOW transaction_isolation");
            fact("level", db.getTransactionIsolation());
            db.commit();
            db.setAutoCommit(true);
        }
        db.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        db.setReadOnly(true);
        db.setAutoCommit(false);
        tell("INSERT INTO moves VALUES (1, 1)");
        db.rollback();
        db.setAutoCommit(true);
        db.setReadOnly(false);
        db.setAutoCommit(false);
        tell("INSERT INTO moves VALUES (1, 10)");
        Savepoint a = db.setSavepoint(), b = db.setSavepoint("named ä");
        tell("INSERT INTO moves VALUES (1, 11)");
        tell("SELECT 1");
        db.rollback(b);
        tell("INSERT INTO moves VALUES (2, 20)");
        db.releaseSavepoint(b);
        ask("released", () -> { db.rollback(b); return null; });
        db.rollback(a);
        tell("SELECT * FROM moves");
        ask("commit", () -> { db.commit(); return "done"; });
        tell("SELECT 1/0");
        ask("commit of a failed one", () -> { db.commit(); return "done"; });
        db.rollback();
        tell("INSERT INTO moves VALUES (3, 30), (4, 40)");
        db.rollback();
        db.setAutoCommit(true);
        tell("SELECT * FROM moves ORDER BY id");
        ask("commit outside", () -> { db.commit(); return null; });
        tell("DROP TABLE moves");
    }

    static void results(String mode) throws Exception {
        section(mode + ": fetch sizes");
        run("CREATE TABLE numbers (i integer PRIMARY KEY, t text)");
        run("INSERT INTO numbers WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 4999) SELECT i, 't' || i FROM g");
        for (int size : new int[] {0, 1, 700, 5000, 100000}) {
            db.setAutoCommit(false);
            for (int again = 0; again < 3; again++)
                ask(size + " at a time", () -> {
                    try (PreparedStatement s = db.prepareStatement("SELECT i, t FROM numbers WHERE i < ? ORDER BY i")) {
                        s.setFetchSize(size);
                        s.setInt(1, size == 1 ? 50 : 5000);
                        long count = 0, sum = 0;
                        try (ResultSet r = s.executeQuery()) {
                            while (r.next()) {
                                count++;
                                sum += r.getInt(1) + r.getString(2).length();
                            }
                        }
                        return count + " rows, " + sum;
                    }
                });
            db.commit();
            db.setAutoCommit(true);
        }
        db.setAutoCommit(false);
        ask("two at once, with changes between", () -> {
            try (PreparedStatement s = db.prepareStatement("SELECT i FROM numbers ORDER BY i"); PreparedStatement t = db.prepareStatement("SELECT t FROM numbers WHERE i > ? ORDER BY i")) {
                s.setFetchSize(3);
                t.setFetchSize(2);
                t.setInt(1, 10);
                StringJoiner all = new StringJoiner(" ");
                try (ResultSet r = s.executeQuery(); ResultSet q = t.executeQuery()) {
                    for (int n = 0; n < 10; n++) {
                        run("DELETE FROM numbers WHERE i = " + (n + 2));
                        r.next();
                        q.next();
                        all.add(r.getString(1) + " " + q.getString(1));
                    }
                }
                return all + " " + run("SELECT count(*) FROM numbers");
            }
        });
        ask("read on after an error", () -> {
            try (PreparedStatement s = db.prepareStatement("SELECT 10 / (3000 - i) FROM numbers ORDER BY i")) {
                s.setFetchSize(1000);
                int n = 0;
                try (ResultSet r = s.executeQuery()) {
                    while (r.next())
                        n++;
                }
                return n;
            }
        });
        tell("SELECT 1");
        db.rollback();
        db.setAutoCommit(true);
        ask("setMaxRows", () -> {
            try (Statement s = db.createStatement()) {
                s.setMaxRows(3);
                return rows(s.executeQuery("SELECT i FROM numbers ORDER BY i")).size();
            }
        });
        ask("scrolling", () -> {
            try (Statement s = db.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                ResultSet r = s.executeQuery("SELECT i FROM numbers ORDER BY i");
                r.last();
                int last = r.getInt(1);
                r.absolute(7);
                return last + " " + r.getInt(1) + " " + r.getRow();
            }
        });
        ask("a statement that returns nothing as query", () -> db.createStatement().executeQuery("DELETE FROM numbers WHERE i < 0"));
        ask("a query as update", () -> db.createStatement().executeUpdate("SELECT 1"));

        section(mode + ": generated keys");
        run("CREATE TABLE keys (id integer PRIMARY KEY, t text DEFAULT 'none', n numeric DEFAULT 1.5)");
        ask("columns by name", () -> {
            try (PreparedStatement s = db.prepareStatement("INSERT INTO keys (id) VALUES (?)", new String[] {"n", "id"})) {
                s.setInt(1, 1);
                int n = s.executeUpdate();
                return n + " " + columns(s.getGeneratedKeys()) + rows(s.getGeneratedKeys());
            }
        });
        ask("all of them", () -> {
            try (PreparedStatement s = db.prepareStatement("INSERT INTO keys VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                for (int i = 10; i < 15; i++) {
                    s.setInt(1, i);
                    s.setString(2, "b" + i);
                    s.addBatch();
                }
                int[] n = s.executeBatch();
                return Arrays.toString(n) + rows(s.getGeneratedKeys());
            }
        });
        ask("of an UPDATE", () -> {
            try (Statement s = db.createStatement()) {
                int n = s.executeUpdate("UPDATE keys SET n = n + id WHERE id > 12", new String[] {"id", "n"});
                return n + " " + rows(s.getGeneratedKeys());
            }
        });
        ask("of a column that is not there", () -> db.createStatement().executeUpdate("INSERT INTO keys VALUES (100)", new String[] {"nothing"}));
        ask("RETURNING", () -> run("DELETE FROM keys WHERE id < ? RETURNING *", 12));

        section(mode + ": batches");
        ask("of statements", () -> {
            try (Statement s = db.createStatement()) {
                s.addBatch("INSERT INTO keys VALUES (50)");
                s.addBatch("UPDATE keys SET t = 'x' WHERE id > 13");
                s.addBatch("DELETE FROM keys WHERE id < 0");
                s.addBatch("CREATE TABLE batched (a integer)");
                return s.executeBatch();
            }
        });
        ask("with an error in it", () -> {
            try (PreparedStatement s = db.prepareStatement("INSERT INTO keys (id, t) VALUES (?, ?)")) {
                for (int i = 0; i < 300; i++) {
                    s.setInt(1, i == 200 ? 50 : 1000 + i);
                    s.setString(2, "batch");
                    s.addBatch();
                }
                return Arrays.stream(s.executeBatch()).sum();
            }
        });
        tell("SELECT count(*) FROM keys");
        ask("with an error in it and results after it", () -> {
            try (Statement s = db.createStatement()) {
                s.addBatch("INSERT INTO keys VALUES (2000)");
                s.addBatch("INSERT INTO keys VALUES (2000)");
                s.addBatch("INSERT INTO keys VALUES (2001)");
                return s.executeBatch();
            }
        });
        tell("SELECT count(*) FROM keys");
        ask("a query in it", () -> {
            try (Statement s = db.createStatement()) {
                s.addBatch("SELECT 1");
                return s.executeBatch();
            }
        });
        ask("3,000 of them", () -> {
            try (PreparedStatement s = db.prepareStatement("INSERT INTO keys (id, t, n) VALUES (?, ?, ?)")) {
                for (int i = 0; i < 3000; i++) {
                    s.setInt(1, 10000 + i);
                    s.setString(2, i % 7 == 0 ? null : "row " + i);
                    s.setBigDecimal(3, new BigDecimal(i).movePointLeft(2));
                    s.addBatch();
                }
                int[] n = s.executeBatch();
                return n.length + " " + n[0] + " " + run("SELECT count(*), count(t), sum(n) FROM keys WHERE id >= 10000");
            }
        });
        run("DROP TABLE keys");
        run("DROP TABLE numbers");
        run("DROP TABLE IF EXISTS batched");
    }

    static void errors(String mode) throws Exception {
        section(mode + ": errors");
        run("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n))");
        run("INSERT INTO ref VALUES (1, 1, 1, 1, 'a')");
        for (String sql : new String[] {"INSERT INTO ref VALUES (1, 2, 3, 4)", "INSERT INTO ref VALUES (2, 1, 3, 4)", "INSERT INTO ref VALUES (2, 2, 1, 1)", "INSERT INTO ref VALUES (2, 2, NULL)",
                                        "INSERT INTO ref VALUES (2, 2, 2, 40000)", "INSERT INTO ref VALUES (2, 2, 2, 2, 'abcd')", "SELECT * FROM nowhere", "SELECT nothing FROM ref", "SELEC 1",
                                        "SELECT 1/0", "SELECT 'x'::integer", "SELECT nosuch(1)", "SELECT 1 +", "CREATE TABLE ref (a integer)", "SELECT 'ä' = , 1",
                                        "SELECT '2024-13-01'::date", "SELECT 1; SELECT 1/0; SELECT 2", "", ";", "-- nothing", "SELECT 1; SELECT 'b' AS b; DELETE FROM ref WHERE id = 7",
                                        "DROP TABLE IF EXISTS nowhere", "CREATE TABLE IF NOT EXISTS ref (a integer)"})
            tell(sql);
        tell("DROP TABLE ref");

        section(mode + ": cancel and timeouts");
        ask("cancel", () -> {
            try (Statement s = db.createStatement()) {
                Thread t = new Thread(() -> {
                    try {
                        Thread.sleep(300);
                        s.cancel();
                    } catch (Exception e) {
                        fact("cancelling", e);
                    }
                });
                t.start();
                try {
                    return s.executeQuery("SELECT pg_sleep(100)");
                } finally {
                    t.join();
                }
            }
        });
        tell("SELECT 'still here'");
        ask("statement_timeout", () -> {
            run("SET statement_timeout = 100");
            try {
                return run("SELECT pg_sleep(100)");
            } finally {
                run("RESET statement_timeout");
            }
        });
    }

    static void timeouts(String mode) throws Exception {
        section("setQueryTimeout, " + mode);
        ask("setQueryTimeout", () -> {
            try (Statement s = db.createStatement()) {
                s.setQueryTimeout(1);
                return s.executeQuery("SELECT pg_sleep(100)");
            }
        });
        tell("SELECT 'still here'");
        ask("a query in time", () -> {
            try (Statement s = db.createStatement()) {
                s.setQueryTimeout(60);
                return rows(s.executeQuery("SELECT 1"));
            }
        });
    }

    static void autosave() throws Exception {
        for (String kind : new String[] {"always", "conservative", "never"})
            for (String mode : new String[] {"extended", "simple"}) {
                section("autosave=" + kind + ", " + mode);
                try (Connection c = connect("autosave", kind, "preferQueryMode", mode, "prepareThreshold", "2")) {
                    db = c;
                    run("CREATE TABLE saved (id integer PRIMARY KEY)");
                    db.setAutoCommit(false);
                    try (PreparedStatement s = db.prepareStatement("SELECT * FROM saved WHERE id > ?")) {
                        for (int n = 0; n < 8; n++) {
                            s.setInt(1, 0);
                            ask("run " + n, () -> rows(s.executeQuery()));
                            tell("INSERT INTO saved VALUES (" + n / 2 + ")");
                            if (n == 4) {
                                run("ROLLBACK");
                                run("DROP TABLE saved");
                                run("CREATE TABLE saved (id integer PRIMARY KEY, more text)");
                                db.commit();
                            }
                        }
                    }
                    ask("commit", () -> { db.commit(); return "done"; });
                    db.setAutoCommit(true);
                    tell("SELECT * FROM saved ORDER BY id");
                    tell("DROP TABLE saved");
                }
            }
    }

    static void copies() throws Exception {
        section("CopyManager");
        db = connect();
        CopyManager copy = ((PGConnection)db).getCopyAPI();
        run("CREATE TABLE copied (a integer, b text, c numeric)");
        ask("in, text", () -> copy.copyIn("COPY copied FROM STDIN", new StringReader("1\tä\\tb\t1.50\n2\t\\N\t\\N\n")));
        ask("in, csv", () -> copy.copyIn("COPY copied (b, a) FROM STDIN WITH (FORMAT csv, HEADER)", new StringReader("b,a\n\"x,\"\"y\"\"\nz\",3\n,4\n")));
        for (String sql : new String[] {"COPY copied TO STDOUT", "COPY (SELECT a, b FROM copied ORDER BY a DESC) TO STDOUT WITH CSV HEADER DELIMITER ';' NULL '-'",
                                        "COPY copied TO STDOUT (FORMAT binary)", "COPY (SELECT a FROM nowhere) TO STDOUT", "COPY (SELECT 1/(a-3) FROM copied) TO STDOUT"})
            ask(sql, () -> {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                long n = copy.copyOut(sql, out);
                return n + " " + (sql.contains("binary") ? HexFormat.of().formatHex(out.toByteArray()) : out.toString(StandardCharsets.UTF_8));
            });
        ask("in, binary", () -> {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            copy.copyOut("COPY copied TO STDOUT (FORMAT binary)", out);
            return copy.copyIn("COPY copied FROM STDIN (FORMAT binary)", new ByteArrayInputStream(out.toByteArray()));
        });
        ask("in, a wrong row", () -> copy.copyIn("COPY copied FROM STDIN", new StringReader("7\tx\t1\nseven\ty\t2\n")));
        ask("in, given up", () -> {
            CopyIn c = copy.copyIn("COPY copied FROM STDIN");
            byte[] b = "9\tx\t1\n".getBytes();
            c.writeToCopy(b, 0, b.length);
            c.cancelCopy();
            return c.isActive();
        });
        ask("out, given up", () -> {
            try (Connection c = connect()) { // the cancel may reach what comes after it
                CopyOut out = ((PGConnection)c).getCopyAPI().copyOut("COPY (WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 400000) SELECT i FROM g) TO STDOUT");
                out.readFromCopy();
                out.cancelCopy();
                return out.isActive();
            }
        });
        ask("COPY as a statement", () -> run("COPY copied FROM STDIN"));
        tell("SELECT count(*), sum(a), sum(c) FROM copied");
        ask("in, 100,000 rows", () -> {
            StringBuilder s = new StringBuilder();
            for (int i = 0; i < 100000; i++)
                s.append(i).append("\tx\t").append(i).append(".5\n");
            return copy.copyIn("COPY copied FROM STDIN", new StringReader(s.toString()));
        });
        tell("SELECT count(*), sum(a), sum(c) FROM copied");
        db.close();
    }

    static void large() throws Exception {
        section("large values");
        db = connect();
        String t = "äx€z".repeat(1500000);
        byte[] b = new byte[12 << 20];
        for (int i = 0; i < b.length; i++)
            b[i] = (byte)(i * 7 + (i >> 8));
        for (String threshold : new String[] {"0", "-1"})
            try (Connection c = connect("prepareThreshold", threshold); PreparedStatement s = c.prepareStatement("SELECT ?::text, ?::bytea, length(?::text)")) {
                s.setString(1, t);
                s.setBytes(2, b);
                s.setString(3, t);
                ResultSet r = s.executeQuery();
                r.next();
                fact("there and back", r.getString(1).equals(t) + " " + Arrays.equals(r.getBytes(2), b) + " " + r.getInt(3));
            }
        run("CREATE TABLE large (id integer PRIMARY KEY, t text, b bytea)");
        String shorter = t.substring(0, 50000);
        ask("stored", () -> run("INSERT INTO large VALUES (1, ?, ?) RETURNING length(t), length(b)", shorter, Arrays.copyOf(b, 100000)));
        ask("read", () -> {
            ResultSet r = db.createStatement().executeQuery("SELECT t, b FROM large");
            r.next();
            return r.getString(1).equals(shorter) + " " + Arrays.equals(r.getBytes(2), Arrays.copyOf(b, 100000));
        });
        section("many parameters");
        for (int n : new int[] {1000, 32767, 65535, 65536})
            ask(n + " parameters", () -> {
                try (PreparedStatement s = db.prepareStatement("SELECT count(*), sum(v) FROM (VALUES (?::integer)" + ", (?)".repeat(n - 1) + ") AS x(v)")) {
                    for (int i = 0; i < n; i++)
                        s.setInt(i + 1, i);
                    return rows(s.executeQuery());
                }
            });
        ask("32,767 in a list", () -> {
            try (PreparedStatement s = db.prepareStatement("SELECT count(*) FROM large WHERE id IN (?" + ", ?".repeat(32766) + ")")) {
                for (int i = 0; i < 32767; i++)
                    s.setInt(i + 1, i);
                return rows(s.executeQuery());
            }
        });
        ask("1,600 columns", () -> {
            try (PreparedStatement s = db.prepareStatement("SELECT ?::integer" + ", 1".repeat(1599))) {
                s.setInt(1, 5);
                ResultSet r = s.executeQuery();
                r.next();
                return r.getMetaData().getColumnCount() + " " + r.getInt(1600);
            }
        });
        ask("a long statement", () -> run("SELECT length('" + "x".repeat(3 << 20) + "')"));
        db.close();
        section("rewritten batches");
        try (Connection c = connect("reWriteBatchedInserts", "true")) {
            db = c;
            run("CREATE TABLE rewritten (id integer PRIMARY KEY, t text, n numeric)");
            for (int size : new int[] {1, 3, 500, 20000})
                ask(size + " rows", () -> {
                    run("DELETE FROM rewritten");
                    try (PreparedStatement s = db.prepareStatement("INSERT INTO rewritten VALUES (?, ?, ?)")) {
                        for (int i = 0; i < size; i++) {
                            s.setInt(1, i);
                            s.setString(2, i % 5 == 0 ? null : "t" + i);
                            s.setBigDecimal(3, BigDecimal.valueOf(i, 3));
                            s.addBatch();
                        }
                        int[] n = s.executeBatch();
                        return n.length + " " + n[0] + " " + run("SELECT count(*), count(t), sum(n) FROM rewritten");
                    }
                });
            ask("an error in them", () -> {
                try (PreparedStatement s = db.prepareStatement("INSERT INTO rewritten VALUES (?, ?, ?)")) {
                    for (int i = 0; i < 300; i++) {
                        s.setInt(1, 100000 + i % 250);
                        s.setString(2, "x");
                        s.setInt(3, i);
                        s.addBatch();
                    }
                    s.executeBatch();
                    return "done";
                } catch (BatchUpdateException e) {
                    return describe(e.getNextException());
                }
            });
            tell("SELECT count(*) FROM rewritten");
        }
    }

    static void pool() throws Exception {
        section("many connections");
        var pool = Executors.newFixedThreadPool(16);
        List<java.util.concurrent.Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            int me = i;
            all.add(pool.submit(() -> {
                try (Connection c = connect(); PreparedStatement s = c.prepareStatement("SELECT ?::bigint * 2")) {
                    long sum = 0;
                    for (int n = 0; n < 20; n++) {
                        s.setLong(1, me);
                        ResultSet r = s.executeQuery();
                        r.next();
                        sum += r.getLong(1);
                    }
                    return sum;
                }
            }));
        }
        long sum = 0;
        for (var f : all)
            sum += f.get();
        pool.shutdown();
        fact("sum", sum);
    }

    public static void main(String[] arguments) throws Exception {
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8"));
        connecting();
        String[][] modes = {{"simple", "5"}, {"extended", "5"}, {"extended", "1"}, {"extended", "-1"}, {"extendedForPrepared", "5"}, {"extendedCacheEverything", "5"},
                            {"extendedCacheEverything", "-1"}};
        for (String[] mode : modes) {
            db = connect("preferQueryMode", mode[0], "prepareThreshold", mode[1]);
            String name = mode[0] + ", threshold " + mode[1];
            types(name);
            statements(name);
            transactions(name);
            results(name);
            errors(name);
            db.close();
        }
        for (String mode : new String[] {"simple", "extended"}) {
            db = connect("preferQueryMode", mode);
            timeouts(mode);
            db.close();
        }
        db = connect();
        lookUps();
        db.close();
        autosave();
        copies();
        large();
        pool();
    }
}
