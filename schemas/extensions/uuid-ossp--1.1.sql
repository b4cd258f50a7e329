-- uuid-ossp 1.1 written in SQL and PL/pgSQL, for a server that lacks the compiled module.
--
-- Versions 3, 4 and 5 and the constants are those of the compiled module. Version 1 has a random node instead of the
-- address of a network card: it stays the same for one session and carries the multicast bit (RFC 4122, 4.5).
--
-- How it is built:
-- - It may be made in a schema that its caller owns, so nothing may look for its own functions there by name when it runs.
--   Steps are PL/pgSQL functions that call nothing of this extension, and SQL functions with a parsed body (bound by
--   identity when they are made) join them; the last statement makes sure what they were bound to.
-- - Every PL/pgSQL function fixes its search path, and parsed bodies have none: a hostile search path changes nothing.
-- - Calls between them pass exactly the declared types, so that no function planted in the target schema fits better.
-- - Functions named uuid_ossp_* are steps of the others and no part of the interface.

\echo Use "CREATE EXTENSION "uuid-ossp"" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

-- Constants

create function @extschema@.uuid_nil() returns uuid
language sql immutable strict parallel safe
return '00000000-0000-0000-0000-000000000000'::uuid;

create function @extschema@.uuid_ns_dns() returns uuid
language sql immutable strict parallel safe
return '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid;

create function @extschema@.uuid_ns_url() returns uuid
language sql immutable strict parallel safe
return '6ba7b811-9dad-11d1-80b4-00c04fd430c8'::uuid;

create function @extschema@.uuid_ns_oid() returns uuid
language sql immutable strict parallel safe
return '6ba7b812-9dad-11d1-80b4-00c04fd430c8'::uuid;

create function @extschema@.uuid_ns_x500() returns uuid
language sql immutable strict parallel safe
return '6ba7b814-9dad-11d1-80b4-00c04fd430c8'::uuid;


-- Version 1: time and node

-- A random number fixed at CREATE EXTENSION, so that two databases do not share nodes.
do $$
begin
  execute pg_catalog.format(
    'create function @extschema@.uuid_ossp_seed() returns bigint language sql immutable parallel safe return %L::bigint',
    (pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 1, 6)
      || pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 1, 2))::bigint
  );
end
$$;

-- The node of this session: no two sessions at the same time have the same process, and so the same node.
create function @extschema@.uuid_ossp_node() returns bigint
language sql stable parallel safe
return (
  pg_catalog.hashint8extended(
    pg_catalog.pg_backend_pid(),
    @extschema@.uuid_ossp_seed() # (extract(epoch from pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint
  ) & 281474976710655
) | 1099511627776;

-- A version 1 UUID of now. It waits for the clock's next microsecond, so that the next one of this session is later;
-- the clock sequence is random, which keeps UUIDs apart when the clock is set back.
create function @extschema@.uuid_ossp_now(node bigint) returns uuid
language plpgsql volatile strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  now timestamptz := clock_timestamp();
  random bigint := substr(uuid_send(gen_random_uuid()), 1, 4)::integer & 2147483647;
  ticks bigint := (extract(epoch from now) * 1000000)::bigint * 10 + random % 10 + 122192928000000000;
begin
  while clock_timestamp() = now loop
  end loop;
  return encode(
    int8send(((ticks & 4294967295) << 32) | (((ticks >> 32) & 65535) << 16) | ((ticks >> 48) & 4095) | 4096)
      || int8send((((random / 10) & 16383) | 32768) << 48 | node),
    'hex'
  )::uuid;
end
$$;

create function @extschema@.uuid_generate_v1() returns uuid
language sql volatile strict parallel safe
return @extschema@.uuid_ossp_now(@extschema@.uuid_ossp_node());

-- A node of its own each time, marked as multicast and locally given.
create function @extschema@.uuid_generate_v1mc() returns uuid
language sql volatile strict parallel safe
return @extschema@.uuid_ossp_now(
  (E'\\x0000'::bytea || pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 1, 6))::bigint
  | 3298534883328
);


-- Versions 3 and 5: a name within a namespace

-- SHA-1 (FIPS 180-4). The five words of the state change places from line to line instead of being copied.
-- The same text as in pgcrypto: neither extension may need the other.
create function @extschema@.uuid_ossp_sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  m constant bigint := 4294967295;
  message bytea := data || '\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
    || int8send(octet_length(data)::bigint * 8);
  w bigint[] := array_fill(0::bigint, array[80], array[0]);
  x bigint;
  h0 bigint := 1732584193;
  h1 bigint := 4023233417;
  h2 bigint := 2562383102;
  h3 bigint := 271733878;
  h4 bigint := 3285377520;
  a bigint;
  b bigint;
  c bigint;
  d bigint;
  e bigint;
begin
  for block in 0 .. octet_length(message) / 64 - 1 loop
    for i in 0 .. 7 loop
      x := substr(message, block * 64 + i * 8 + 1, 8)::bigint;
      w[i * 2] := (x >> 32) & m;
      w[i * 2 + 1] := x & m;
    end loop;
    for i in 16 .. 79 loop
      x := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((x << 1) | (x >> 31)) & m;
    end loop;
    a := h0;
    b := h1;
    c := h2;
    d := h3;
    e := h4;
    for i in 0 .. 15 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (d # (b & (c # d)))) + e + 1518500249 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (c # (a & (b # c)))) + d + 1518500249 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (b # (e & (a # b)))) + c + 1518500249 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (a # (d & (e # a)))) + b + 1518500249 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (e # (c & (d # e)))) + a + 1518500249 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 20 .. 35 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (b # c # d)) + e + 1859775393 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (a # b # c)) + d + 1859775393 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (e # a # b)) + c + 1859775393 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (d # e # a)) + b + 1859775393 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (c # d # e)) + a + 1859775393 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 40 .. 55 by 5 loop
      e := ((((a << 5) | (a >> 27)) + ((b & c) | (d & (b | c)))) + e + 2400959708 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + ((a & b) | (c & (a | b)))) + d + 2400959708 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + ((e & a) | (b & (e | a)))) + c + 2400959708 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + ((d & e) | (a & (d | e)))) + b + 2400959708 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + ((c & d) | (e & (c | d)))) + a + 2400959708 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 60 .. 75 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (b # c # d)) + e + 3395469782 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (a # b # c)) + d + 3395469782 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (e # a # b)) + c + 3395469782 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (d # e # a)) + b + 3395469782 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (c # d # e)) + a + 3395469782 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    h0 := (h0 + a) & m;
    h1 := (h1 + b) & m;
    h2 := (h2 + c) & m;
    h3 := (h3 + d) & m;
    h4 := (h4 + e) & m;
  end loop;
  return int8send((h0 << 32) | h1) || int8send((h2 << 32) | h3) || substr(int8send(h4), 5, 4);
end
$$;

create function @extschema@.uuid_ossp_of_hash(hash bytea, version integer) returns uuid
language sql immutable strict parallel safe
return pg_catalog.encode(
  pg_catalog.set_byte(
    pg_catalog.set_byte(pg_catalog.substr(hash, 1, 16), 6, (pg_catalog.get_byte(hash, 6) & 15) | (version << 4)),
    8, (pg_catalog.get_byte(hash, 8) & 63) | 128
  ),
  'hex'
)::uuid;

create function @extschema@.uuid_generate_v3(namespace uuid, name text) returns uuid
language sql immutable strict parallel safe
return @extschema@.uuid_ossp_of_hash(
  pg_catalog.decode(
    pg_catalog.md5(
      pg_catalog.uuid_send(namespace) || pg_catalog.convert_to(name, pg_catalog.getdatabaseencoding())
    ),
    'hex'
  ),
  3
);

create function @extschema@.uuid_generate_v5(namespace uuid, name text) returns uuid
language sql immutable strict parallel safe
return @extschema@.uuid_ossp_of_hash(
  @extschema@.uuid_ossp_sha1(pg_catalog.uuid_send(namespace) || pg_catalog.convert_to(name, pg_catalog.getdatabaseencoding())),
  5
);


-- Version 4: random

create function @extschema@.uuid_generate_v4() returns uuid
language sql volatile strict parallel safe
return pg_catalog.gen_random_uuid();

-- By now parsed bodies are bound. If one is bound to anything but the server's own and this extension's objects, because a
-- function in the target schema fitted a call better, nothing is made.
do $$
begin
  if exists (
    select from pg_depend as used
    join pg_depend as mine on mine.classid = used.classid and mine.objid = used.objid and mine.deptype = 'e'
    join pg_extension as made on made.oid = mine.refobjid and made.extname = 'uuid-ossp'
    where mine.refclassid = 'pg_extension'::regclass
      and used.classid = 'pg_proc'::regclass
      and used.refclassid not in ('pg_namespace'::regclass, 'pg_language'::regclass, 'pg_extension'::regclass)
      and not exists (
        select from pg_depend as other
        where other.classid = used.refclassid and other.objid = used.refobjid
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
      and not exists (
        select from pg_depend as inner_type
        join pg_depend as other on other.classid = inner_type.refclassid and other.objid = inner_type.refobjid
        where inner_type.classid = used.refclassid and inner_type.objid = used.refobjid and inner_type.deptype = 'i'
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
  ) then
    raise exception 'an object of the schema would take the place of one of the extension'
      using errcode = 'insufficient_privilege', hint = 'Create the extension in a schema without functions of its names.';
  end if;
end
$$;
