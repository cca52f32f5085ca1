/* libpqxx: prepared statements, COPY streams, cursors, subtransactions, pipelines, errors by SQLSTATE. */
#include <iostream>
#include <pqxx/pqxx>
#include <tuple>

using namespace pqxx;

static void
section(const char *name)
{
    std::cout << "== " << name << std::endl;
}

static void
show(const std::string &what, const result &r)
{
    std::cout << what << ":";
    for (auto row : r)
        for (auto f : row)
            std::cout << " " << f.name() << "=" << (f.is_null() ? "NULL" : f.c_str()) << " (" << f.type() << ")";
    std::cout << " " << r.affected_rows() << std::endl;
}

template<typename Work>
static void
ask(const std::string &what, Work work)
{
    try {
        work();
    } catch (const sql_error &e) {
        std::string text = e.what();
        while (text.find('\n') != std::string::npos)
            text.replace(text.find('\n'), 1, "\\n");
        std::cout << what << ": " << e.sqlstate() << " " << text << std::endl;
    }
}

int
main()
{
    section("statements");
    connection c{""};
    {
        work t(c);
        t.exec("CREATE TABLE things (id integer PRIMARY KEY, t text, n numeric(8,2))");
        t.commit();
    }
    c.prepare("put", "INSERT INTO things VALUES ($1, $2, $3) RETURNING id");
    for (int i = 0; i < 3; i++) {
        work t(c);
        show("put", t.exec_prepared("put", i, i == 1 ? nullptr : "ä'\\", 1.5 * i));
        t.commit();
    }
    for (const char *sql : {"SELECT * FROM things ORDER BY id", "SELECT 1/0", "SELECT * FROM nowhere", "SELEC", "INSERT INTO things VALUES (1)"})
        ask(sql, [&] { work t(c); show(sql, t.exec(sql)); });
    ask("parameters", [&] { work t(c); show("parameters", t.exec_params("SELECT $1::bigint + 1 AS a, $2 || 'x' AS b, $3::date AS d", 41, "y", "2024-02-29")); });
    ask("a wrong one", [&] { work t(c); show("a wrong one", t.exec_params("SELECT $1::integer", "x")); });

    section("COPY");
    {
        work t(c);
        stream_to s(t, "things", std::vector<std::string>{"id", "t"});
        for (int i = 100; i < 2100; i++)
            s << std::make_tuple(i, "ä\t" + std::to_string(i));
        s.complete();
        show("rows", t.exec("SELECT count(*), sum(id), max(t) FROM things"));
        t.commit();
    }
    ask("a wrong value", [&] {
        work t(c);
        stream_to s(t, "things", std::vector<std::string>{"id", "t"});
        s << std::make_tuple("x", "wrong");
        s.complete();
    });

    section("cursors");
    {
        work t(c);
        stateless_cursor<cursor_base::read_only, cursor_base::owned> walk(t, "SELECT id FROM things ORDER BY id", "walk", false);
        std::cout << "size: " << walk.size() << std::endl;
        show("forward", walk.retrieve(5, 8));
        show("backward", walk.retrieve(8, 5));
        icursorstream stream(t, "SELECT id FROM things WHERE id > 2000 ORDER BY id", "stream", 40);
        result r;
        while (stream >> r)
            std::cout << "rows: " << r.size() << std::endl;
    }

    section("transactions");
    {
        work t(c);
        {
            subtransaction inner(t, "inner");
            ask("in it", [&] { inner.exec("INSERT INTO things VALUES (1)"); });
            inner.abort();
        }
        show("after it", t.exec("SELECT count(*) FROM things"));
        t.commit();
    }
    {
        transaction<serializable> t(c);
        show("level", t.exec("SHOW transaction_isolation"));
    }
    {
        read_transaction t(c);
        ask("read only", [&] { t.exec("DELETE FROM things"); });
    }

    section("pipelines");
    {
        work t(c);
        pipeline p(t);
        auto a = p.insert("SELECT 1 AS a"), b = p.insert("SELECT 'b' AS b");
        show("second", p.retrieve(b));
        show("first", p.retrieve(a));
    }
}
