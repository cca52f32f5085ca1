CREATE TABLE customer (c_custkey integer PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(25) NOT NULL, c_city char(10) NOT NULL, c_nation varchar(15) NOT NULL,
    c_region varchar(12) NOT NULL, c_phone varchar(15) NOT NULL, c_mktsegment varchar(10) NOT NULL);
CREATE TABLE supplier (s_suppkey integer PRIMARY KEY, s_name varchar(25) NOT NULL, s_address varchar(25) NOT NULL, s_city char(10) NOT NULL, s_nation varchar(15) NOT NULL,
    s_region varchar(12) NOT NULL, s_phone varchar(15) NOT NULL);
CREATE TABLE part (p_partkey integer PRIMARY KEY, p_name varchar(22) NOT NULL, p_mfgr varchar(6) NOT NULL, p_category varchar(7) NOT NULL, p_brand1 varchar(9) NOT NULL,
    p_color varchar(11) NOT NULL, p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container varchar(10) NOT NULL);
CREATE TABLE dates (d_datekey integer PRIMARY KEY, d_date varchar(18) NOT NULL, d_dayofweek varchar(9) NOT NULL, d_month varchar(9) NOT NULL, d_year integer NOT NULL,
    d_yearmonthnum integer NOT NULL, d_yearmonth varchar(7) NOT NULL, d_daynuminweek integer NOT NULL, d_daynuminmonth integer NOT NULL, d_daynuminyear integer NOT NULL,
    d_monthnuminyear integer NOT NULL, d_weeknuminyear integer NOT NULL, d_sellingseason varchar(12) NOT NULL, d_weekdayfl integer NOT NULL);
CREATE TABLE lineorder (lo_orderkey bigint NOT NULL, lo_linenumber integer NOT NULL, lo_custkey integer NOT NULL, lo_partkey integer NOT NULL, lo_suppkey integer NOT NULL,
    lo_orderdate integer NOT NULL, lo_orderpriority varchar(15) NOT NULL, lo_shippriority varchar(1) NOT NULL, lo_quantity integer NOT NULL, lo_extendedprice integer NOT NULL,
    lo_ordtotalprice integer NOT NULL, lo_discount integer NOT NULL, lo_revenue integer NOT NULL, lo_supplycost integer NOT NULL, lo_tax integer NOT NULL,
    lo_commitdate integer NOT NULL, lo_shipmode varchar(10) NOT NULL, PRIMARY KEY (lo_orderkey, lo_linenumber));
