-- Statements of seal_again.py in sessions of the owners of these tables, whose triggers and indexes may run code of a tenant.

-- name: factors
-- Up to $3 values after the row $2 that another key than $1 encrypted.
select id, secret as sealed from auth.mfa_factors
where id > $2 and pg_catalog.starts_with(secret, '{"key_id"') and pg_catalog.split_part(secret, '"', 4) <> $1 order by id limit $3

-- name: store_factors
update auth.mfa_factors as t set secret = n.new
from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, old, new) where t.id = n.id and t.secret = n.old

-- name: sessions
-- Keys of sessions; a derived key is not in its row.
select id, refresh_token_hmac_key as sealed from auth.sessions
where id > $2 and pg_catalog.starts_with(refresh_token_hmac_key, '{"key_id"') and pg_catalog.split_part(refresh_token_hmac_key, '"', 4) <> $1
  and pg_catalog.split_part(refresh_token_hmac_key, '"', 4) !~ ':derived$'
order by id limit $3

-- name: store_sessions
update auth.sessions as t set refresh_token_hmac_key = n.new
from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, old, new) where t.id = n.id and t.refresh_token_hmac_key = n.old

-- name: providers
select id, client_secret as sealed from auth.custom_oauth_providers
where id > $2 and pg_catalog.starts_with(client_secret, '{"key_id"') and pg_catalog.split_part(client_secret, '"', 4) <> $1 order by id limit $3

-- name: store_providers
update auth.custom_oauth_providers as t set client_secret = n.new
from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, old, new) where t.id = n.id and t.client_secret = n.old

-- name: access_keys
select access_key_id, secret from storage.s3_access_keys where secret <> ''

-- name: store_access_key
update storage.s3_access_keys set secret = $3 where access_key_id = $1 and secret = $2
