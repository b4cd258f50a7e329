-- Programs that administrators let in by OAuth (`/mcp`): one row a consent. Its access tokens are rows of administrator_tokens.
-- as: superuser

create table if not exists headwater.administrator_grants (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  administrator_id uuid not null references headwater.administrators on delete cascade,
  client text not null check (pg_catalog.length(client) operator(pg_catalog.<=) 200),
  client_digest bytea not null check (pg_catalog.octet_length(client_digest) operator(pg_catalog.=) 32),
  redirect_uri text not null check (pg_catalog.length(redirect_uri) operator(pg_catalog.<=) 1000),
  resource text not null check (pg_catalog.length(resource) operator(pg_catalog.<=) 1000),
  rights text not null check (rights in ('owner', 'developer', 'reader')),
  may_write boolean not null,
  code bytea not null unique check (pg_catalog.octet_length(code) operator(pg_catalog.=) 32),
  code_challenge text not null,
  code_expires_at timestamptz not null,
  code_used_at timestamptz,
  refresh bytea unique check (pg_catalog.octet_length(refresh) operator(pg_catalog.=) 32),
  former_refresh bytea,
  refreshed_at timestamptz,
  created_at timestamptz not null default pg_catalog.now(),
  used_at timestamptz,
  expires_at timestamptz not null
);
comment on table headwater.administrator_grants is 'Consents of administrators; codes and refresh tokens are SHA-256 digests';
comment on column headwater.administrator_grants.client is 'What the program calls itself: nothing proves it';
comment on column headwater.administrator_grants.resource is 'The address at which its tokens are accepted (RFC 8707)';
revoke all on table headwater.administrator_grants from public;
grant select, insert, update, delete on headwater.administrator_grants to headwater_management;

alter table headwater.administrator_tokens
  add column if not exists grant_id uuid references headwater.administrator_grants on delete cascade;
create index if not exists administrator_tokens_grant on headwater.administrator_tokens (grant_id) where grant_id is not null;
