-- OAuth and OpenID Connect providers that need no code, only their addresses.
-- as: supabase_auth_admin

create table if not exists auth.custom_oauth_providers (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  provider_type text not null
    constraint custom_oauth_providers_provider_type_check check (provider_type in ('oauth2', 'oidc')),
  identifier text not null constraint custom_oauth_providers_identifier_key unique
    constraint custom_oauth_providers_identifier_format check (identifier ~ '^[a-z0-9][a-z0-9:-]{0,48}[a-z0-9]$'),
  name text not null,
  client_id text not null,
  client_secret text not null,
  acceptable_client_ids text[] not null default '{}',
  scopes text[] not null default '{}',
  pkce_enabled boolean not null default true,
  attribute_mapping jsonb not null default '{}',
  custom_claims_allowlist text[] not null default '{}',
  authorization_params jsonb not null default '{}',
  enabled boolean not null default true,
  email_optional boolean not null default false,
  issuer text constraint custom_oauth_providers_issuer_https check (issuer like 'https://%'),
  discovery_url text constraint custom_oauth_providers_discovery_url_https check (discovery_url like 'https://%'),
  skip_nonce_check boolean not null default false,
  cached_discovery jsonb,
  discovery_cached_at timestamptz,
  authorization_url text
    constraint custom_oauth_providers_authorization_url_https check (authorization_url like 'https://%'),
  token_url text constraint custom_oauth_providers_token_url_https check (token_url like 'https://%'),
  userinfo_url text constraint custom_oauth_providers_userinfo_url_https check (userinfo_url like 'https://%'),
  jwks_uri text constraint custom_oauth_providers_jwks_uri_https check (jwks_uri like 'https://%'),
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now(),
  constraint custom_oauth_providers_oidc_requires_issuer check (provider_type <> 'oidc' or issuer is not null),
  constraint custom_oauth_providers_oauth2_requires_endpoints check (
    provider_type <> 'oauth2'
    or (authorization_url is not null and token_url is not null and userinfo_url is not null)
  )
);

alter table auth.custom_oauth_providers enable row level security;
