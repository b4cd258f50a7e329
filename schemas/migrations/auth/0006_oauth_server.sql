-- Clients that sign people in with our accounts: what they asked for and what people allowed them.
-- as: supabase_auth_admin

create table if not exists auth.oauth_clients (
  id uuid primary key,
  client_secret_hash text,
  registration_type auth.oauth_registration_type not null,
  redirect_uris text not null,
  grant_types text not null,
  client_name text constraint oauth_clients_client_name_length check (pg_catalog.char_length(client_name) <= 1024),
  client_uri text constraint oauth_clients_client_uri_length check (pg_catalog.char_length(client_uri) <= 2048),
  logo_uri text constraint oauth_clients_logo_uri_length check (pg_catalog.char_length(logo_uri) <= 2048),
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now(),
  deleted_at timestamptz,
  client_type auth.oauth_client_type not null default 'confidential',
  token_endpoint_auth_method text not null constraint oauth_clients_token_endpoint_auth_method_check
    check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'none'))
);

create table if not exists auth.oauth_authorizations (
  id uuid primary key,
  authorization_id text not null constraint oauth_authorizations_authorization_id_key unique,
  client_id uuid not null references auth.oauth_clients on delete cascade,
  user_id uuid references auth.users on delete cascade,
  redirect_uri text not null
    constraint oauth_authorizations_redirect_uri_length check (pg_catalog.char_length(redirect_uri) <= 2048),
  scope text not null constraint oauth_authorizations_scope_length check (pg_catalog.char_length(scope) <= 4096),
  state text constraint oauth_authorizations_state_length check (pg_catalog.char_length(state) <= 4096),
  resource text constraint oauth_authorizations_resource_length check (pg_catalog.char_length(resource) <= 2048),
  code_challenge text
    constraint oauth_authorizations_code_challenge_length check (pg_catalog.char_length(code_challenge) <= 128),
  code_challenge_method auth.code_challenge_method,
  response_type auth.oauth_response_type not null default 'code',
  status auth.oauth_authorization_status not null default 'pending',
  authorization_code text constraint oauth_authorizations_authorization_code_key unique
    constraint oauth_authorizations_authorization_code_length
    check (pg_catalog.char_length(authorization_code) <= 255),
  created_at timestamptz not null default pg_catalog.now(),
  expires_at timestamptz not null default pg_catalog.now() + interval '10 minutes',
  approved_at timestamptz,
  nonce text constraint oauth_authorizations_nonce_length check (pg_catalog.char_length(nonce) <= 255),
  constraint oauth_authorizations_expires_at_future check (expires_at > created_at)
);

create table if not exists auth.oauth_consents (
  id uuid primary key,
  user_id uuid not null references auth.users on delete cascade,
  client_id uuid not null references auth.oauth_clients on delete cascade,
  scopes text not null constraint oauth_consents_scopes_length check (pg_catalog.char_length(scopes) <= 2048),
  granted_at timestamptz not null default pg_catalog.now(),
  revoked_at timestamptz,
  constraint oauth_consents_user_client_unique unique (user_id, client_id),
  constraint oauth_consents_revoked_after_granted check (revoked_at >= granted_at)
);

alter table auth.oauth_clients enable row level security;
alter table auth.oauth_authorizations enable row level security;
alter table auth.oauth_consents enable row level security;
