-- Assertions that were used already, until nobody would believe them; how a sign-in by them ends; when metadata were asked for.
-- as: supabase_auth_admin

create table if not exists auth.saml_assertions (
  assertion_hash bytea primary key
    constraint saml_assertions_assertion_hash_length check (pg_catalog.octet_length(assertion_hash) = 32),
  expires_at timestamptz not null
);

comment on column auth.saml_assertions.assertion_hash is 'SHA-256 of issuer and assertion id';
create index if not exists saml_assertions_expires_at_idx on auth.saml_assertions (expires_at);

alter table auth.saml_assertions enable row level security;

alter table auth.flow_state add column if not exists session_not_after timestamptz;
comment on column auth.flow_state.session_not_after is 'When the session ends that the flow leads to, if a provider set an end';

alter table auth.saml_providers add column if not exists metadata_asked_at timestamptz;
comment on column auth.saml_providers.metadata_asked_at is 'When metadata_url was last asked, with or without success';
