-- Signed messages that were used (nonces.py). All run as supabase_auth_admin.

-- name: use_message
-- No row where the message was used before and could still be used again.
insert into auth.web3_nonces as used (nonce_hash, expires_at) values (decode($1, 'hex'), $2)
on conflict (nonce_hash) do update set expires_at = excluded.expires_at where used.expires_at < $3
returning 1
