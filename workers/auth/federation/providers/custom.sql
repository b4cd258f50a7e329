-- Providers that an administrator adds (custom.py). All run as supabase_auth_admin.

-- name: by_identifier
select row_to_json(shown) from (select * from auth.custom_oauth_providers where identifier = $1) shown

-- name: all
-- Oldest first; of one type, or of any.
select row_to_json(shown) from (
  select * from auth.custom_oauth_providers
  where $1 = '' or provider_type = $1
  order by created_at, id
) shown

-- name: lock_table
-- Keeps others from adding one until the transaction ends, so that the quota holds.
lock table auth.custom_oauth_providers in share row exclusive mode

-- name: count
select count(*) from auth.custom_oauth_providers

-- name: lock
select 1 from auth.custom_oauth_providers where identifier = $1 for update

-- name: insert
-- All values come as one JSON object.
insert into auth.custom_oauth_providers (
  id, provider_type, identifier, name, client_id, client_secret, acceptable_client_ids, scopes, pkce_enabled,
  attribute_mapping, custom_claims_allowlist, authorization_params, enabled, email_optional, issuer, discovery_url,
  skip_nonce_check, cached_discovery, discovery_cached_at, authorization_url, token_url, userinfo_url, jwks_uri
)
select
  id, provider_type, identifier, name, client_id, client_secret, acceptable_client_ids, scopes, pkce_enabled,
  attribute_mapping, custom_claims_allowlist, authorization_params, enabled, email_optional, issuer, discovery_url,
  skip_nonce_check, cached_discovery, discovery_cached_at, authorization_url, token_url, userinfo_url, jwks_uri
from pg_catalog.jsonb_populate_record(null::auth.custom_oauth_providers, $1::jsonb)

-- name: update
-- All that may change comes as one JSON object.
update auth.custom_oauth_providers as kept set
  name = given.name, client_id = given.client_id, client_secret = given.client_secret,
  acceptable_client_ids = given.acceptable_client_ids, scopes = given.scopes, pkce_enabled = given.pkce_enabled,
  attribute_mapping = given.attribute_mapping, custom_claims_allowlist = given.custom_claims_allowlist,
  authorization_params = given.authorization_params, enabled = given.enabled, email_optional = given.email_optional,
  issuer = given.issuer, discovery_url = given.discovery_url, skip_nonce_check = given.skip_nonce_check,
  cached_discovery = given.cached_discovery, discovery_cached_at = given.discovery_cached_at,
  authorization_url = given.authorization_url, token_url = given.token_url, userinfo_url = given.userinfo_url,
  jwks_uri = given.jwks_uri, updated_at = pg_catalog.now()
from pg_catalog.jsonb_populate_record(null::auth.custom_oauth_providers, $1::jsonb) as given
where kept.identifier = given.identifier

-- name: delete
delete from auth.custom_oauth_providers where identifier = $1 returning 1
