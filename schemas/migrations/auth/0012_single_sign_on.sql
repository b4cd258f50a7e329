-- Identity providers of organizations, the domains they speak for, and visits there that are under way.
-- as: supabase_auth_admin

create table if not exists auth.sso_providers (
  id uuid primary key,
  resource_id text constraint "resource_id not empty" check (pg_catalog.char_length(resource_id) > 0),
  created_at timestamptz,
  updated_at timestamptz,
  disabled boolean
);

create unique index if not exists sso_providers_resource_id_idx
  on auth.sso_providers (pg_catalog.lower(resource_id));

create table if not exists auth.sso_domains (
  id uuid primary key,
  sso_provider_id uuid not null references auth.sso_providers on delete cascade,
  domain text not null constraint "domain not empty" check (pg_catalog.char_length(domain) > 0),
  created_at timestamptz,
  updated_at timestamptz
);

create unique index if not exists sso_domains_domain_idx on auth.sso_domains (pg_catalog.lower(domain));

create table if not exists auth.saml_providers (
  id uuid primary key,
  sso_provider_id uuid not null references auth.sso_providers on delete cascade,
  entity_id text not null constraint saml_providers_entity_id_key unique
    constraint "entity_id not empty" check (pg_catalog.char_length(entity_id) > 0),
  metadata_xml text not null constraint "metadata_xml not empty" check (pg_catalog.char_length(metadata_xml) > 0),
  metadata_url text constraint "metadata_url not empty" check (pg_catalog.char_length(metadata_url) > 0),
  attribute_mapping jsonb,
  name_id_format text,
  created_at timestamptz,
  updated_at timestamptz
);

create table if not exists auth.saml_relay_states (
  id uuid primary key,
  sso_provider_id uuid not null references auth.sso_providers on delete cascade,
  request_id text not null constraint "request_id not empty" check (pg_catalog.char_length(request_id) > 0),
  for_email text,
  redirect_to text,
  flow_state_id uuid references auth.flow_state on delete cascade,
  created_at timestamptz,
  updated_at timestamptz
);

alter table auth.sso_providers enable row level security;
alter table auth.sso_domains enable row level security;
alter table auth.saml_providers enable row level security;
alter table auth.saml_relay_states enable row level security;
