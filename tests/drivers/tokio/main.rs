//! tokio-postgres: described statements, binary values both ways, pipelined queries, portals with row limits, COPY streams, cancel, errors with their fields, notices.
use bytes::Bytes;
use futures_util::{future, pin_mut, stream, SinkExt, StreamExt, TryStreamExt};
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, IsolationLevel, NoTls, Row, SimpleQueryMessage};

fn section(name: &str) {
    println!("== {}", name);
}

fn fact(name: &str, v: impl ToString) {
    println!("{}", format!("{}: {}", name, v.to_string()).replace('\n', "\\n"));
}

fn describe(e: &tokio_postgres::Error) -> String {
    match e.as_db_error() {
        None => format!("in the library: {}", e),
        Some(d) => format!(
            "{} {} {} detail={:?} hint={:?} position={:?} where={:?} schema={:?} table={:?} column={:?} constraint={:?}",
            d.severity(), d.code().code(), d.message(), d.detail(), d.hint(), d.position(), d.where_(), d.schema(), d.table(), d.column(), d.constraint()
        ),
    }
}

fn show<T: Debug>(name: &str, r: Result<T, tokio_postgres::Error>) {
    match r {
        Ok(v) => fact(name, format!("{:?}", v)),
        Err(e) => fact(name, describe(&e)),
    }
}

/// Any value as it came: the bytes of its binary form.
struct Raw(String);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw.iter().map(|b| format!("{:02x}", b)).collect()))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Bytes sent as the binary form of whatever type the server infers.
#[derive(Debug)]
struct Binary(Vec<u8>);

impl ToSql for Binary {
    fn to_sql(&self, _: &Type, out: &mut bytes::BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    tokio_postgres::types::to_sql_checked!();
}

fn shown(rows: &[Row]) -> String {
    let mut all = String::new();
    for r in rows {
        all += "(";
        for (i, c) in r.columns().iter().enumerate() {
            let v: Option<Raw> = r.get(i);
            all += &format!("{} {} {}, ", c.name(), c.type_(), v.map_or("NULL".to_string(), |v| v.0));
        }
        all += ") ";
    }
    all
}

async fn query(db: &Client, sql: &str, values: &[&(dyn ToSql + Sync)]) {
    match db.query(sql, values).await {
        Ok(rows) => fact(&format!("{} {:?}", sql, values), shown(&rows)),
        Err(e) => fact(&format!("{} {:?}", sql, values), describe(&e)),
    }
}

async fn connect(more: &str) -> Result<Client, tokio_postgres::Error> {
    let env = |n: &str| std::env::var(n).unwrap();
    let mut config: tokio_postgres::Config = more.parse()?;
    config.host(&env("PGHOST")).port(env("PGPORT").parse().unwrap());
    if config.get_user().is_none() {
        config.user(&env("PGUSER"));
    }
    if config.get_password().is_none() {
        config.password(env("PGPASSWORD"));
    }
    if config.get_dbname().is_none() {
        config.dbname(&env("PGDATABASE"));
    }
    let (client, mut connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        let mut messages = stream::poll_fn(move |c| connection.poll_message(c));
        while let Some(Ok(m)) = messages.next().await {
            if let AsyncMessage::Notice(n) = m {
                fact("notice", format!("{} {} {}", n.severity(), n.code().code(), n.message()));
            }
        }
    });
    Ok(client)
}

fn values() -> Vec<(String, Option<String>)> {
    std::fs::read_to_string(std::env::var("LIB").unwrap() + "/values").unwrap().lines().filter(|l| !l.starts_with('#'))
        .map(|l| { let c: Vec<&str> = l.splitn(3, '\t').collect(); (c[0].to_string(), if c[2] == "\\N" { None } else { Some(c[2].to_string()) }) }).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    section("connect");
    let mut db = connect("").await.unwrap();
    for more in ["password=wrong", "user=nobody-there", "dbname=no-such-database", "options='-c statement_timeout=abc'", "application_name=ä"] {
        show(more, connect(more).await.map(|_| "connected"));
    }

    section("types");
    for (t, text) in values() {
        let sql = format!("SELECT $1::text::{} AS v", t);
        query(&db, &sql, &[&text]).await;
        let back = match db.query_one(&sql, &[&text]).await {
            Ok(r) => r.get::<_, Option<Raw>>(0),
            Err(_) => None,
        };
        if let Some(hex) = back {
            let raw = Binary((0..hex.0.len() / 2).map(|i| u8::from_str_radix(&hex.0[2 * i..2 * i + 2], 16).unwrap()).collect());
            query(&db, &format!("SELECT $1::{} AS v, $1::{}::text AS t", t, t), &[&raw]).await;
        }
    }

    section("described");
    db.batch_execute("CREATE TABLE things (id integer PRIMARY KEY, n numeric(8,2), d date, t varchar(7), u integer UNIQUE)").await.unwrap();
    for sql in ["SELECT $1 + 1", "SELECT $1 || $2", "SELECT coalesce($1, 1.5)", "SELECT $1", "SELECT id FROM things WHERE n > $1 AND d = $2 AND t LIKE $3 LIMIT $4", "INSERT INTO things VALUES ($1, $2, $3, $4, $5)",
                "UPDATE things SET t = $1 WHERE id IN ($2, $3) RETURNING *", "SELECT nothing", "SELECT $1 = $2", "SELECT CASE WHEN $1 THEN $2 ELSE 'x' END", "", "SELECT $1::date - $2"] {
        match db.prepare(sql).await {
            Ok(s) => fact(sql, format!("{:?} -> {:?}", s.params(), s.columns().iter().map(|c| (c.name().to_string(), c.type_().to_string())).collect::<Vec<_>>())),
            Err(e) => fact(sql, describe(&e)),
        }
    }
    show("prepare_typed", db.prepare_typed("SELECT $1, $2", &[Type::INT8, Type::TIMESTAMPTZ]).await.map(|s| s.params().to_vec()));

    section("statements");
    query(&db, "INSERT INTO things VALUES ($1, 1.5, '2024-02-29', $2, $3), (2, NULL, NULL, NULL, NULL)", &[&1, &"ä", &7]).await;
    query(&db, "SELECT * FROM things ORDER BY id", &[]).await;
    query(&db, "SELECT t FROM things WHERE id = $1", &[&1]).await;
    query(&db, "SELECT $1::integer", &[&"x"]).await;
    for sql in ["INSERT INTO things VALUES (1)", "INSERT INTO things (id, u) VALUES (3, 7)", "INSERT INTO things (id) VALUES (NULL)", "INSERT INTO things (id, t) VALUES (4, '12345678')", "SELECT * FROM nowhere", "SELEC", "SELECT 1/0"] {
        query(&db, sql, &[]).await;
    }
    show("execute", db.execute("UPDATE things SET u = u + 1 WHERE id < $1", &[&5]).await);
    let star = db.prepare("SELECT * FROM things").await.unwrap();
    db.batch_execute("DROP TABLE things; CREATE TABLE things (id integer PRIMARY KEY, t text)").await.unwrap();
    show("over another table", db.query(&star, &[]).await.map(|r| shown(&r)));
    drop(star);

    section("simple queries");
    for sql in ["SELECT 1 AS a; SELECT 'b' AS b, NULL; INSERT INTO things VALUES (1, 'x')", "SELECT 1; SELECT 1/0", "", "SELEC"] {
        show(sql, db.simple_query(sql).await.map(|all| all.iter().map(|m| match m {
            SimpleQueryMessage::Row(r) => (0..r.len()).map(|i| format!("{:?}", r.get(i))).collect::<Vec<_>>().join(", "),
            SimpleQueryMessage::CommandComplete(n) => format!("done {}", n),
            _ => "other".to_string(),
        }).collect::<Vec<_>>()));
    }

    section("pipelines");
    let (a, b, c) = future::join3(db.query("SELECT $1::integer * 2", &[&21]), db.query("SELECT 1/$1::integer", &[&0]), db.query("SELECT pg_sleep(0.05), 3", &[])).await;
    show("first", a.map(|r| shown(&r)));
    show("second", b.map(|r| shown(&r)));
    show("third", c.map(|r| r.len()));
    let many = future::join_all((0..200).map(|i| { let db = &db; async move { db.query_one("SELECT $1::bigint + 1", &[&(i as i64)]).await.unwrap().get::<_, i64>(0) } })).await;
    fact("200 at once", many.iter().sum::<i64>());

    section("transactions");
    {
        let mut t = db.transaction().await.unwrap();
        show("insert", t.execute("INSERT INTO things VALUES (10, 'ten')", &[]).await);
        {
            let inner = t.transaction().await.unwrap();
            show("again", inner.execute("INSERT INTO things VALUES (10, 'ten')", &[]).await);
            show("then", inner.query("SELECT 1", &[]).await.map(|r| shown(&r)));
            inner.rollback().await.unwrap();
        }
        let named = t.savepoint("named").await.unwrap();
        show("insert", named.execute("INSERT INTO things VALUES (11, 'eleven')", &[]).await);
        named.commit().await.unwrap();
        t.commit().await.unwrap();
    }
    query(&db, "SELECT count(*) FROM things", &[]).await;
    {
        let t = db.build_transaction().isolation_level(IsolationLevel::Serializable).read_only(true).deferrable(true).start().await.unwrap();
        show("level", t.query("SHOW transaction_isolation", &[]).await.map(|r| shown(&r)));
        show("insert", t.execute("INSERT INTO things VALUES (12, 'x')", &[]).await);
    }
    query(&db, "SELECT count(*) FROM things", &[]).await;

    section("portals");
    db.batch_execute("CREATE TABLE numbers (i integer PRIMARY KEY); INSERT INTO numbers WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 999) SELECT i FROM g").await.unwrap();
    {
        let t = db.transaction().await.unwrap();
        let p = t.bind("SELECT i FROM numbers WHERE i >= $1 ORDER BY i", &[&5]).await.unwrap();
        let q = t.bind("SELECT i FROM numbers ORDER BY i DESC", &[]).await.unwrap();
        for n in [1, 3, 0, 2] {
            show(&format!("{} of one", n), t.query_portal(&p, n).await.map(|r| (r.len(), r.first().map(|r| r.get::<_, i32>(0)))));
            show(&format!("{} of the other", n), t.query_portal(&q, n).await.map(|r| (r.len(), r.first().map(|r| r.get::<_, i32>(0)))));
        }
        t.commit().await.unwrap();
    }

    section("COPY");
    db.batch_execute("CREATE TABLE copied (a integer, b text)").await.unwrap();
    {
        let sink = db.copy_in("COPY copied FROM STDIN").await.unwrap();
        pin_mut!(sink);
        for i in 0..2000 {
            sink.send(Bytes::from(format!("{}\tä{}\n", i, i))).await.unwrap();
        }
        show("in", sink.finish().await);
        let bad = db.copy_in("COPY copied FROM STDIN").await.unwrap();
        pin_mut!(bad);
        bad.send(Bytes::from("x\ty\n")).await.unwrap();
        show("in, a wrong row", bad.finish().await);
    }
    match db.copy_out("COPY (SELECT * FROM copied WHERE a < 3 ORDER BY a) TO STDOUT CSV").await {
        Ok(s) => show("out", s.try_fold(String::new(), |all, b| future::ready(Ok(all + std::str::from_utf8(&b).unwrap()))).await),
        Err(e) => fact("out", describe(&e)),
    }
    query(&db, "SELECT count(*), sum(a) FROM copied", &[]).await;

    section("cancel");
    let token = db.cancel_token();
    let (r, _) = future::join(db.query("SELECT pg_sleep(100)", &[]), async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await.unwrap()
    }).await;
    show("cancelled", r.map(|_| "done"));
    query(&db, "SELECT 'still here'", &[]).await;

    section("notices");
    for sql in ["DROP TABLE IF EXISTS nowhere", "CREATE TABLE IF NOT EXISTS things (a integer)", "COMMIT"] {
        show(sql, db.batch_execute(sql).await);
    }

    section("large values");
    let (text, raw) = ("äx€z".repeat(1000000), b"\0\xff\\'\x80".repeat(2000000));
    let r = db.query_one("SELECT $1::text, $2::bytea, length($1)", &[&text, &raw]).await.unwrap();
    fact("there and back", format!("{} {} {}", r.get::<_, &str>(0) == text, r.get::<_, &[u8]>(1) == &raw[..], r.get::<_, i32>(2)));
    let places = (1..=5000).map(|i| format!("${}", i)).collect::<Vec<_>>().join(", ");
    let all: Vec<i32> = (1..=5000).collect();
    let refs: Vec<&(dyn ToSql + Sync)> = all.iter().map(|v| v as &(dyn ToSql + Sync)).collect();
    show("5,000 parameters", db.query(&format!("SELECT count(*) FROM copied WHERE a IN ({})", places), &refs).await.map(|r| shown(&r)));

    section("arrays");
    query(&db, "SELECT count(*) FROM copied WHERE a = ANY($1)", &[&vec![1, 2, 3]]).await;
}
