CREATE TABLE cat_a (id integer PRIMARY KEY, name varchar(40) NOT NULL, amount numeric(12,2) DEFAULT 0, born date, UNIQUE (name, born));
CREATE TABLE cat_b ("select" bigint, tags text[], c character(3), k "char", n name, at timestamptz(3) DEFAULT now(), span interval, j jsonb, u uuid, CHECK ("select" > 0), CONSTRAINT "Odd check" CHECK (c <> ''));
SELECT relname, relkind, relnatts, relchecks, relhasindex, relpersistence, relreplident, relnamespace::regnamespace, relowner::regrole, relam, relispartition, relisshared, relhasrules, relacl FROM pg_class
    WHERE relname LIKE 'cat\_%' ORDER BY 1;
SELECT attrelid::regclass, attname, atttypid::regtype, attlen, attnum, attndims, atttypmod, attbyval, attalign, attstorage, attnotnull, atthasdef, attidentity, attgenerated, attisdropped, attcollation FROM pg_attribute
    WHERE attrelid IN ('cat_a'::regclass, 'cat_b'::regclass, 'cat_a_pkey'::regclass, 'cat_a_name_born_key'::regclass) ORDER BY attrelid::regclass::text, attnum;
SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = 'cat_a'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
SELECT conname, contype, condeferrable, convalidated, conrelid::regclass, conindid::regclass, conkey, confkey, connoinherit, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint
    WHERE conrelid IN ('cat_a'::regclass, 'cat_b'::regclass) AND contype <> 'c' ORDER BY 1;
SELECT conname, contype, conkey, conindid FROM pg_constraint WHERE contype = 'c' AND conrelid = 'cat_b'::regclass ORDER BY 1;
SELECT indexrelid::regclass, indrelid::regclass, indnatts, indnkeyatts, indisunique, indisprimary, indisvalid, indkey, indcollation, indclass, indoption, indexprs, indpred, pg_get_indexdef(indexrelid),
    pg_get_indexdef(indexrelid, 0, true), pg_get_indexdef(indexrelid, 1, false), pg_get_indexdef(indexrelid, 2, true) FROM pg_index WHERE indrelid = 'cat_a'::regclass ORDER BY 1;
SELECT i.relname, a.attname, am.amname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid JOIN pg_am am ON am.oid = i.relam
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey) WHERE t.relname = 'cat_a' ORDER BY 1, a.attnum;
SELECT o.opcname, o.opcintype::regtype, o.opcdefault FROM pg_index x JOIN pg_opclass o ON o.oid = ANY (x.indclass) WHERE x.indrelid = 'cat_a'::regclass ORDER BY 1;
SELECT schemaname, tablename, tableowner, hasindexes, hastriggers FROM pg_tables WHERE tablename LIKE 'cat\_%' ORDER BY 2;
SELECT * FROM pg_indexes WHERE tablename = 'cat_a' ORDER BY indexname;
SELECT nspname, oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'public', 'pg_toast') ORDER BY 1;
SELECT typname, typnamespace, typlen, typtype, typcategory, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript, typelem, typarray, typalign, typstorage, typcollation FROM pg_type
    WHERE typname IN ('bool', 'int4', 'numeric', 'varchar', 'timestamptz', 'interval', 'jsonb', 'uuid', 'oid', 'name', 'char', 'regclass', 'regtype', 'regproc', 'int2vector', 'oidvector', 'tid', 'xid', 'cid', 'aclitem',
    'pg_node_tree', '_int4', '_text', '_numeric', '_regclass', '_aclitem', '_timestamptz', '_varchar', 'void', 'anyarray', 'cstring', 'record') ORDER BY oid;
SELECT count(*) FROM pg_type t WHERE t.typinput::oid = 0 OR NOT EXISTS (SELECT 1 FROM pg_proc p WHERE p.oid = t.typinput) OR NOT EXISTS (SELECT 1 FROM pg_namespace n WHERE n.oid = t.typnamespace);
SELECT oid, proname, prokind, proisstrict, proretset, provolatile, pronargs, prorettype::regtype, proargtypes, proargtypes[0]::regtype, pg_get_function_result(oid), pg_get_function_arguments(oid),
    pg_get_function_identity_arguments(oid) FROM pg_proc WHERE proname IN ('abs', 'sqrt', 'array_in', 'array_recv', 'now', 'substr', 'row_number', 'int4in') ORDER BY oid;
SELECT oid, proname, prokind, prorettype::regtype, proargtypes FROM pg_proc WHERE proname IN ('sum', 'max', 'bool_and') AND proargtypes[0] IN (16, 20, 21, 23, 25, 700, 701, 1082, 1700) ORDER BY oid;
SELECT oid, proname, prokind, prorettype, proargtypes FROM pg_proc WHERE proname = 'count' ORDER BY oid;
SELECT amname, amtype FROM pg_am WHERE oid IN (2, 403) ORDER BY oid;
SELECT castsource::regtype, casttarget::regtype, castfunc, castcontext, castmethod FROM pg_cast WHERE castsource IN (23, 25, 2205) AND casttarget IN (16, 20, 21, 26, 2205, 1700, 19, 1043) ORDER BY 1, 2;
SELECT oid, oprname, oprkind, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode FROM pg_operator WHERE oprname = '=' AND oprleft IN (16, 20, 23, 25) AND oprright IN (16, 20, 23, 25) ORDER BY oid;
SELECT collname, collprovider, collencoding FROM pg_collation WHERE oid IN (100, 950, 951) ORDER BY oid;
SELECT spcname FROM pg_tablespace ORDER BY oid;
SELECT lanname, lanpltrusted FROM pg_language WHERE lanname IN ('internal', 'sql') ORDER BY oid;
SELECT datname = current_database(), pg_encoding_to_char(encoding), datallowconn, datconnlimit FROM pg_database WHERE datname = current_database();
SELECT count(*) FROM pg_description WHERE objoid >= 16384;
SELECT count(*) FROM pg_trigger; SELECT count(*) FROM pg_policy; SELECT count(*) FROM pg_inherits; SELECT count(*) FROM pg_publication; SELECT count(*) FROM pg_enum; SELECT count(*) FROM pg_event_trigger;
SELECT pg_table_is_visible('cat_a'::regclass), pg_table_is_visible('pg_class'::regclass), pg_table_is_visible('information_schema.tables'::regclass), pg_table_is_visible(4000000000), pg_type_is_visible(23),
    pg_function_is_visible('abs(integer)'::regprocedure), pg_type_is_visible(0);
SELECT obj_description('cat_a'::regclass, 'pg_class'), col_description('cat_a'::regclass, 1), shobj_description(4, 'pg_class'), obj_description(4000000000);
SELECT current_schema(), current_schemas(false), current_schemas(true), pg_get_userbyid(10), pg_get_userbyid(4000000000), pg_encoding_to_char(6), pg_char_to_encoding('UTF8'), pg_is_in_recovery(), pg_is_other_temp_schema(11);
SELECT pg_size_pretty(0::bigint), pg_size_pretty(10239::bigint), pg_size_pretty(10240::bigint), pg_size_pretty(20479::bigint), pg_size_pretty(-10240::bigint), pg_size_pretty(1048576::bigint), pg_size_pretty(10485247::bigint),
    pg_size_pretty(10485248::bigint), pg_size_pretty(123456789012::bigint), pg_size_pretty(9223372036854775807::bigint), pg_size_pretty((-9223372036854775808)::bigint);
SELECT pg_get_serial_sequence('cat_a', 'id'), pg_relation_size('cat_a') >= 0, pg_total_relation_size('cat_a') >= 0, pg_table_size('cat_a') >= 0, pg_database_size(current_database()) >= 0, pg_relation_size(4000000000::oid);
SELECT pg_get_serial_sequence('nosuch', 'id');
SELECT pg_get_serial_sequence('cat_a', 'nosuch');
SELECT pg_get_indexdef(0), pg_get_constraintdef(0), pg_get_viewdef(0), pg_get_expr(NULL, 0), pg_get_function_result(0);
SELECT name, setting, unit, vartype, boot_val FROM pg_settings WHERE name IN ('work_mem', 'block_size', 'max_index_keys', 'DateStyle', 'extra_float_digits') ORDER BY name;
SELECT name, setting, unit FROM pg_settings WHERE name IN ('server_encoding', 'standard_conforming_strings') ORDER BY name;
SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('x'), pg_typeof('x'::text), pg_typeof(now()), pg_typeof(ARRAY[1]), pg_typeof('pg_class'::regclass), pg_typeof(pg_typeof(1)), pg_typeof(NULL::interval);
SELECT quote_ident('a'), quote_ident('A b'), quote_ident('select'), quote_ident('a"b'), quote_ident(''), quote_ident('between'), quote_ident('a1_'), quote_ident('1a');
SELECT table_name, table_type, is_insertable_into FROM information_schema.tables WHERE table_schema = 'public' AND table_name LIKE 'cat\_%' ORDER BY 1;
SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision,
    collation_name, udt_schema, udt_name, dtd_identifier, is_identity, is_generated, is_updatable FROM information_schema.columns WHERE table_name = 'cat_a' ORDER BY 1, 3;
SELECT column_name, is_nullable, data_type, character_maximum_length, numeric_precision, datetime_precision, collation_name, udt_name FROM information_schema.columns WHERE table_name = 'cat_b' ORDER BY ordinal_position;
SELECT constraint_name, table_name, constraint_type, is_deferrable, initially_deferred, enforced, nulls_distinct FROM information_schema.table_constraints WHERE table_name = 'cat_a' AND constraint_name LIKE 'cat%' ORDER BY 1;
SELECT constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint FROM information_schema.key_column_usage WHERE table_name = 'cat_a' ORDER BY 1, 4;
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE table_name LIKE 'cat\_%' ORDER BY 3, 2;
SELECT schema_name, schema_owner FROM information_schema.schemata WHERE schema_name IN ('pg_catalog', 'information_schema') ORDER BY 1;
SELECT constraint_name FROM information_schema.referential_constraints;
SELECT character_set_name, character_repertoire, form_of_use FROM information_schema.character_sets;
SELECT catalog_name = current_database() FROM information_schema.information_schema_catalog_name;
SELECT count(*) FROM information_schema.triggers; SELECT count(*) FROM information_schema.sequences; SELECT count(*) FROM information_schema.views WHERE table_schema = 'public';
SELECT table_schema, table_name FROM information_schema.tables WHERE table_name IN ('pg_class', 'tables', 'pg_tables') ORDER BY 1, 2;
SELECT t.nosuch FROM information_schema.tables t;
SELECT count(*) FROM information_schema.tables t (a, b, c) WHERE c = 'cat_a';
CREATE TABLE cat_d (a varchar(10) DEFAULT 'x', b text DEFAULT 'a' || 'b', c integer DEFAULT 1 + 2, d numeric(8,2) DEFAULT 1.50, e date DEFAULT '2024-02-29', f timestamptz DEFAULT now(), g boolean DEFAULT true,
    h interval DEFAULT '1 day', i smallint DEFAULT 3, j real DEFAULT 1.5, k text DEFAULT upper('q'), l integer[] DEFAULT '{1,2}', m character(3) DEFAULT 'ab', n text DEFAULT NULL, o double precision DEFAULT -1,
    CHECK (a <> 'y' AND c + i * 2 > 0), CHECK (c IN (1, 2, 3) OR b IS NULL), CHECK (NOT (g AND d > 0)), CHECK ((c - i) - 1 < c - (i - 1)), CHECK (length(b) BETWEEN 1 AND 9));
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid), pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = 'cat_d'::regclass ORDER BY d.adnum;
SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true), pg_get_expr(conbin, conrelid), pg_get_expr(conbin, conrelid, true) FROM pg_constraint WHERE conrelid = 'cat_d'::regclass ORDER BY 1;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'cat_d' ORDER BY ordinal_position;
DROP TABLE cat_d;
ALTER TABLE cat_a DROP CONSTRAINT cat_a_name_born_key;
ALTER TABLE cat_a ADD UNIQUE (amount);
ALTER TABLE cat_a RENAME TO cat_renamed;
SELECT conname, conrelid::regclass, conindid::regclass, conkey FROM pg_constraint WHERE conrelid = 'cat_renamed'::regclass ORDER BY 1;
DROP TABLE cat_renamed, cat_b;
SELECT count(*) FROM pg_class WHERE relname LIKE 'cat\_%';
