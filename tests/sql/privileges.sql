-- has_…_privilege() and pg_has_role(), by name and by oid, for roles, for public and for oneself
CREATE ROLE pv_owner; CREATE ROLE pv_reader; CREATE ROLE pv_group; CREATE ROLE pv_none NOINHERIT; CREATE ROLE pv_super SUPERUSER;
GRANT pv_group TO pv_reader; GRANT pv_group TO pv_none WITH ADMIN OPTION;
CREATE TABLE pv (id integer PRIMARY KEY, a text, b numeric, "Odd name" integer);
ALTER TABLE pv OWNER TO pv_owner;
GRANT SELECT ON pv TO pv_group; GRANT INSERT (id, a) ON pv TO pv_reader; GRANT UPDATE (b) ON pv TO PUBLIC; GRANT DELETE ON pv TO pv_none WITH GRANT OPTION; GRANT TRUNCATE ON pv TO PUBLIC;
SELECT r, p, has_table_privilege(r, 'pv', p) FROM unnest(ARRAY['pv_owner', 'pv_reader', 'pv_group', 'pv_none', 'pv_super', 'public', 'root']::name[]) r,
  unnest(ARRAY['SELECT', 'insert', 'Update', 'DELETE', 'delete with grant option', 'truncate', 'REFERENCES', 'TRIGGER', 'select, delete', ' delete ,insert', 'RULE']) p ORDER BY 1, 2;
SELECT r, c, p, has_column_privilege(r, 'pv', c, p) FROM unnest(ARRAY['pv_owner', 'pv_reader', 'pv_group', 'pv_none', 'public']::name[]) r, unnest(ARRAY['id', 'a', 'b', 'Odd name']) c,
  unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES', 'SELECT WITH GRANT OPTION', 'UPDATE, INSERT']) p ORDER BY 1, 2, 3;
SELECT r, p, has_any_column_privilege(r, 'pv', p) FROM unnest(ARRAY['pv_owner', 'pv_reader', 'pv_group', 'pv_none', 'public']::name[]) r, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p ORDER BY 1, 2;
SELECT has_table_privilege('pv_reader', 'pv'::regclass, 'select'), has_table_privilege((SELECT oid FROM pg_roles WHERE rolname = 'pv_reader'), 'pv'::regclass::oid, 'insert'), has_table_privilege((SELECT oid FROM pg_roles WHERE rolname = 'pv_reader'), 'pv', 'select');
SELECT has_table_privilege('pv', 'select'), has_table_privilege('pv'::regclass, 'select'), has_table_privilege(1::oid, 'select'), has_table_privilege('pv_reader', 1::oid, 'select'), has_table_privilege(NULL, 'pv', 'select');
SELECT has_column_privilege('pv_reader', 'pv', 1::int2, 'insert'), has_column_privilege('pv_reader', 'pv'::regclass, 'b', 'insert'), has_column_privilege('pv', 'a', 'select'), has_column_privilege('pv'::regclass, 2::int2, 'select'), has_column_privilege('pv', 77::int2, 'select');
SELECT has_table_privilege('pv_reader', 'pg_class', 'select'), has_table_privilege('pv_reader', 'pg_class', 'insert'), has_table_privilege('pv_reader', 'pg_authid', 'select'), has_table_privilege('pv_owner', 'pv_pkey', 'select'), has_table_privilege('pv_reader', 'pv_pkey', 'select'), has_table_privilege('public', 'pg_catalog.pg_type', 'select');
SELECT r, has_schema_privilege(r, 'public', 'usage'), has_schema_privilege(r, 'public', 'create'), has_schema_privilege(r, 'pg_catalog', 'usage'), has_schema_privilege(r, 'pg_catalog', 'create'), has_schema_privilege(r, 'information_schema', 'usage, create') FROM unnest(ARRAY['pv_owner', 'pv_super', 'public']::name[]) r ORDER BY 1;
SELECT has_schema_privilege('public', 'usage'), has_schema_privilege('pv_owner', 'public'::regnamespace, 'usage'), has_schema_privilege(3::oid, 'usage'), has_schema_privilege('pv_owner', 'public', 'USAGE WITH GRANT OPTION');
SELECT r, has_database_privilege(r, current_database(), 'connect'), has_database_privilege(r, current_database(), 'create'), has_database_privilege(r, current_database(), 'temp'), has_database_privilege(r, current_database(), 'temporary, create') FROM unnest(ARRAY['pv_owner', 'pv_super', 'public']::name[]) r ORDER BY 1;
SELECT has_database_privilege(3::oid, 'connect'), has_database_privilege(current_database(), 'create');
SELECT r, o, pg_has_role(r, o, 'member'), pg_has_role(r, o, 'usage'), pg_has_role(r, o, 'member with admin option'), pg_has_role(r, o, 'USAGE WITH GRANT OPTION')
FROM unnest(ARRAY['pv_reader', 'pv_none', 'pv_group', 'pv_super', 'pv_owner']::name[]) r, unnest(ARRAY['pv_group', 'pv_reader', 'pv_owner']::name[]) o ORDER BY 1, 2;
SELECT pg_has_role('pv_group', 'member'), pg_has_role((SELECT oid FROM pg_roles WHERE rolname = 'pv_reader'), (SELECT oid FROM pg_roles WHERE rolname = 'pv_group'), 'usage');
SELECT has_table_privilege('pv_nobody', 'pv', 'select');
SELECT has_table_privilege('pv_reader', 'pv_nothing', 'select');
SELECT has_table_privilege('pv_reader', 'pv', 'usage');
SELECT has_table_privilege('pv_reader', 'pv', '');
SELECT has_table_privilege('pv_reader', 'pv', 'select,');
SELECT has_table_privilege('pv_reader', 'pv', 'select with  grant option');
SELECT has_column_privilege('pv_reader', 'pv', 'zz', 'select');
SELECT has_column_privilege('pv_reader', 'pv', 'a', 'delete');
SELECT has_schema_privilege('nowhere', 'usage');
SELECT has_schema_privilege('public', 'select');
SELECT has_database_privilege('nowhere', 'connect');
SELECT pg_has_role('public', 'member');
SELECT pg_has_role('pv_group', 'select');
SET ROLE pv_reader;
SELECT has_table_privilege('pv', 'select'), has_table_privilege('pv', 'delete'), has_column_privilege('pv', 'a', 'insert'), pg_has_role('pv_group', 'usage'), pg_has_role('pv_owner', 'usage');
RESET ROLE;
DROP TABLE pv;
DROP ROLE pv_owner, pv_reader, pv_group, pv_none, pv_super;
