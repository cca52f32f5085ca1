-- quote_literal, quote_nullable
SELECT quote_literal('abc'), quote_literal(''), quote_literal('a''b'), quote_literal('a\b'), quote_literal(E'ä\n''\\');
SELECT quote_literal(NULL), quote_nullable(NULL), quote_nullable('x'), quote_nullable('it''s \');
SELECT quote_literal(42), quote_literal(1.50), quote_literal(true), quote_literal(date '2024-02-29'), quote_nullable(NULL::integer), quote_nullable(7::bigint);
SELECT quote_literal(v), quote_nullable(v) FROM (VALUES ('a'), (NULL), ('''')) AS t (v);
SELECT quote_literal(v::varchar(3)), quote_literal(v::name) FROM (VALUES ('abcd')) AS t (v);
SELECT quote_literal();
SELECT quote_literal('a', 'b');
SELECT length(quote_literal(repeat('''', 1000000)));
