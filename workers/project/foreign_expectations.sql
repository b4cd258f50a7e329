-- What files of a project may expect of the hosted platform (foreign_expectations.py).

-- name: has_pg_net
-- True as well where the server does not have the extension at all: then the webhook says so.
select exists (select from pg_catalog.pg_extension where extname = 'pg_net')
  or not exists (select from pg_catalog.pg_available_extensions where name = 'pg_net')

-- name: make_pg_net
create extension pg_net with schema extensions

-- name: has_pgsodium_key
-- Whether the table exists, from an earlier file or from the project itself.
select pg_catalog.to_regclass('pgsodium.key') is not null

-- name: make_pgsodium_schema
create schema if not exists pgsodium

-- name: make_pgsodium_key
-- The columns of the original, with texts in the place of its own types.
create table pgsodium.key (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  status text default 'valid',
  created timestamptz not null default pg_catalog.now(),
  expires timestamptz,
  key_type text,
  key_id bigserial,
  key_context bytea default '\x7067736f6469756d',
  name text unique,
  associated_data text default 'associated',
  raw_key bytea,
  raw_key_nonce bytea,
  parent_key uuid references pgsodium.key (id),
  comment text,
  user_data text
)

-- name: describe_pgsodium_key
comment on table pgsodium.key is 'Empty: dumps of hosted projects name it. Nothing here uses it'

-- name: allow_deletes
select pg_catalog.set_config('storage.allow_delete_query', 'true', true)

-- name: reject_deletes
select pg_catalog.set_config('storage.allow_delete_query', '', true)

-- name: require_filters
alter role authenticator set safeupdate.enabled = on

-- name: require_no_filters
alter role authenticator reset safeupdate.enabled
