-- Clients of the OAuth server (clients.py). All run as supabase_auth_admin. A deleted client is found by none.

-- name: by_id
select row_to_json(shown) from (
  select id, registration_type, client_type, token_endpoint_auth_method, client_secret_hash, client_name, client_uri,
    logo_uri, created_at, updated_at, string_to_array(redirect_uris, ',') as redirect_uris,
    string_to_array(grant_types, ',') as grant_types
  from auth.oauth_clients
  where id = $1 and deleted_at is null
) shown

-- name: lock
select 1 from auth.oauth_clients where id = $1 and deleted_at is null for update

-- name: insert
insert into auth.oauth_clients (
  id, registration_type, client_type, token_endpoint_auth_method, client_secret_hash, redirect_uris, grant_types,
  client_name, client_uri, logo_uri
) values (
  $1, $2::auth.oauth_registration_type, $3::auth.oauth_client_type, $4, $5, $6, $7, nullif($8, ''), nullif($9, ''),
  nullif($10, '')
)

-- name: update
update auth.oauth_clients set
  token_endpoint_auth_method = $2, redirect_uris = $3, grant_types = $4, client_name = nullif($5, ''),
  client_uri = nullif($6, ''), logo_uri = nullif($7, ''), updated_at = now()
where id = $1 and deleted_at is null

-- name: new_secret
update auth.oauth_clients set client_secret_hash = $2, updated_at = now() where id = $1 and deleted_at is null

-- name: delete
update auth.oauth_clients set deleted_at = now(), updated_at = now(), client_secret_hash = null
where id = $1 and deleted_at is null
returning 1

-- name: end_sessions
delete from auth.sessions where oauth_client_id = $1

-- name: revoke_consents
update auth.oauth_consents set revoked_at = greatest(now(), granted_at) where client_id = $1 and revoked_at is null

-- name: end_authorizations
update auth.oauth_authorizations set status = 'expired' where client_id = $1 and status in ('pending', 'approved')

-- name: page
select row_to_json(shown) from (
  select id, registration_type, client_type, token_endpoint_auth_method, client_name, client_uri,
    logo_uri, created_at, updated_at, string_to_array(redirect_uris, ',') as redirect_uris,
    string_to_array(grant_types, ',') as grant_types
  from auth.oauth_clients
  where deleted_at is null
  order by created_at desc, id
  limit $1 offset $2
) shown

-- name: count
select count(*) from auth.oauth_clients where deleted_at is null
