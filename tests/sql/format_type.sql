-- format_type: names of types by OID and typmod
SELECT t.oid, t.typname, format_type(t.oid, NULL), format_type(t.oid, -1), format_type(t.oid, t.typtypmod)
  FROM pg_type t
  WHERE t.oid IN (16, 17, 18, 19, 20, 21, 23, 25, 26, 28, 114, 700, 701, 705, 869, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2278, 2950, 3802)
  ORDER BY t.oid;
SELECT format_type(v.oid, v.m) FROM (VALUES (1043::oid, 7), (1042, 5), (1042, 14), (1700, 655366), (1114, 3), (1184, 0), (1083, 6), (1266, 2), (1186, 2147418113), (23, 4), (0, -1), (99999, -1), (NULL, -1)) AS v (oid, m);
SELECT pg_catalog.format_type(1700, (10 << 16) + 2 + 4), format_type(1043::oid, NULL::integer);
SELECT t.oid, format_type(t.oid, NULL), format_type(t.oid, -1) FROM pg_type t WHERE t.oid IN (1000, 1001, 1005, 1007, 1009, 1014, 1015, 1231, 1115, 1185, 1187, 199, 3807, 2951) ORDER BY t.oid;
SELECT format_type(1231, 655366), format_type(1015, 9), format_type(1014, 5);
SELECT format_type(23);
