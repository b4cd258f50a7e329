-- States of OAuth sign-ins (states.py). All run as supabase_auth_admin.

-- name: store_secrets
insert into auth.oauth_client_states (id, provider_type, code_verifier, created_at) values ($1, $2, $3, now())

-- name: take_secrets
delete from auth.oauth_client_states where id = $1 returning row_to_json(oauth_client_states)

-- name: claim
-- A flow that came back is marked as used at once; its code is drawn later, or never.
update auth.flow_state set auth_code_issued_at = now(), updated_at = now() where id = $1

-- name: invitation
-- The code of an invitation, by its hash.
select row_to_json(one_time_tokens) from auth.one_time_tokens
where token_hash = $1 and token_type = 'confirmation_token'
