<?php
/** PHP's PDO_pgsql: native and emulated prepared statements, typed parameters, LOBs, COPY, savepoints, scrollable cursors, errors by SQLSTATE. */
require getenv('LIB') . '/facts.php';

function connect(string $more = '', ?string $user = null, ?string $password = null, array $options = []): PDO
{
    return new PDO('pgsql:' . $more, $user ?? getenv('PGUSER'), $password ?? getenv('PGPASSWORD'), $options + [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}

function ask(string $name, callable $work): void
{
    try {
        $v = $work();
    } catch (PDOException $e) {
        $v = $e->getCode() . ' ' . preg_replace('/connection to .* failed: /', '', $e->getMessage());
    }
    fact($name, $v);
}

/** Rows, with streams read. */
function rows(PDOStatement $s): array
{
    $all = $s->fetchAll(PDO::FETCH_ASSOC);
    foreach ($all as &$row)
        foreach ($row as &$v)
            if (is_resource($v))
                $v = 'stream ' . bin2hex(stream_get_contents($v));
    return $all;
}

function run(PDO $db, string $sql, array $values = [])
{
    $s = $db->prepare($sql);
    $s->execute($values);
    return [rows($s), $s->rowCount()];
}

section('connect');
$db = connect();
fact('server', $db->getAttribute(PDO::ATTR_SERVER_VERSION));
ask('wrong password', fn () => connect('', null, 'wrong'));
ask('no such role', fn () => connect('', 'nobody-there'));
ask('no such database', fn () => connect('dbname=no-such-database'));

foreach (['native' => [], 'emulated' => [PDO::ATTR_EMULATE_PREPARES => true], 'not prepared' => [PDO::PGSQL_ATTR_DISABLE_PREPARES => true]] as $how => $options) {
    $db = connect('', null, null, $options);
    section("$how: types");
    foreach (values() as [$type, $text])
        ask("$type " . shown($text), fn () => run($db, "SELECT ?::$type AS v", [$text]));
    section("$how: parameters");
    $db->exec('CREATE TABLE things (id integer PRIMARY KEY, b boolean, n numeric(8,2), t text, by bytea)');
    ask('typed', function () use ($db) {
        $s = $db->prepare('INSERT INTO things VALUES (:id, :b, :n, :t, :by)');
        foreach ([1, 2, 3] as $id) {
            $f = fopen('php://memory', 'w+');
            fwrite($f, "\0\xff$id");
            rewind($f);
            $s->bindValue(':id', $id, PDO::PARAM_INT);
            $s->bindValue(':b', $id === 2, PDO::PARAM_BOOL);
            $s->bindValue(':n', $id === 3 ? null : '1.5', $id === 3 ? PDO::PARAM_NULL : PDO::PARAM_STR);
            $s->bindValue(':t', "ä'\\$id");
            $s->bindParam(':by', $f, PDO::PARAM_LOB);
            $s->execute();
        }
        return $s->rowCount();
    });
    ask('read', fn () => rows($db->query('SELECT * FROM things ORDER BY id')));
    ask('RETURNING', fn () => run($db, 'UPDATE things SET n = n + ? WHERE id < ? RETURNING id, n', ['1', 3]));
    ask('LIMIT', fn () => run($db, 'SELECT id FROM things ORDER BY id LIMIT ? OFFSET ?', [1, 1]));
    ask('a question mark', fn () => run($db, "SELECT '?' AS q, ?::text AS v", ['x']));
    ask('again and again', function () use ($db) { $s = $db->prepare('SELECT id * 2 AS v FROM things WHERE id = ?'); return array_map(function ($i) use ($s) { $s->execute([$i]); return $s->fetchColumn(); }, [1, 2, 3, 4]); });
    section("$how: errors");
    foreach (['INSERT INTO things VALUES (1)', 'SELECT * FROM nowhere', 'SELEC', 'SELECT 1/0', "SELECT 'x'::date", 'SELECT nothing FROM things'] as $sql) {
        ask($sql, fn () => $db->query($sql));
        ask("prepared: $sql", fn () => run($db, $sql));
    }
    ask('a wrong value', fn () => run($db, 'SELECT ?::integer', ['x']));
    section("$how: transactions");
    $db->beginTransaction();
    ask('insert', fn () => $db->exec('INSERT INTO things (id) VALUES (10)'));
    ask('savepoint', fn () => $db->exec('SAVEPOINT a'));
    ask('again', fn () => $db->exec('INSERT INTO things (id) VALUES (10)'));
    ask('aborted', fn () => $db->exec('SELECT 1'));
    ask('rollback to', fn () => $db->exec('ROLLBACK TO a'));
    fact('in one', $db->inTransaction());
    ask('commit', fn () => $db->commit());
    $db->beginTransaction();
    $db->exec('DELETE FROM things');
    ask('rollback', fn () => $db->rollBack());
    ask('count', fn () => run($db, 'SELECT count(*) FROM things'));
    $db->exec('DROP TABLE things');
}

section('several statements');
$db = connect();
ask('exec', fn () => $db->exec('CREATE TABLE copied (a integer, b text); INSERT INTO copied VALUES (1, NULL), (2, \'x\')'));
ask('exec with an error', fn () => $db->exec('INSERT INTO copied VALUES (3, NULL); SELECT 1/0'));

section('COPY');
ask('from array', fn () => $db->pgsqlCopyFromArray('copied', ["4\tä", "5\t\\N"]));
ask('from a wrong array', fn () => $db->pgsqlCopyFromArray('copied', ["six\tä"]));
ask('to array', fn () => $db->pgsqlCopyToArray('copied'));

section('cursors');
ask('scrolling', function () use ($db) {
    $db->beginTransaction();
    $s = $db->prepare('SELECT a FROM copied ORDER BY a', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
    $s->execute();
    $found = [$s->fetchColumn(), $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST), $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_PRIOR), $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_ABS, 1)];
    $s = null;
    $db->rollBack();
    return $found;
});

section('large values');
$text = str_repeat('äx€z', 1000000);
ask('there and back', fn () => digest(run($db, 'SELECT ?::text AS v', [$text])[0][0]['v']));
ask('5,000 parameters', fn () => run($db, 'SELECT count(*) FROM copied WHERE a IN (' . implode(', ', array_fill(0, 5000, '?')) . ')', range(1, 5000)));

section('what the driver looks up');
ask('the type of a column', fn () => array_intersect_key($db->query('SELECT 1::bigint AS v')->getColumnMeta(0), array_flip(['native_type', 'name', 'len', 'precision', 'pgsql:oid'])));
