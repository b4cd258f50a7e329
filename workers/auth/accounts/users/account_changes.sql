-- Changes to a user by a sign-in with a provider (account_changes.py). All run as supabase_auth_admin.

-- name: insert
insert into auth.users (
  instance_id, id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data, is_super_admin, is_sso_user,
  confirmation_token, recovery_token, email_change_token_new, email_change, created_at, updated_at
) values (
  '00000000-0000-0000-0000-000000000000', $1, $2, $3, nullif($4, ''), '', $5, $6, false, $7, '', '', '', '', now(), now()
)

-- name: describe
update auth.users set raw_user_meta_data = $2, raw_app_meta_data = $3, updated_at = now() where id = $1

-- name: confirm
-- The address becomes the account's, proven now; an empty one leaves it as it is.
update auth.users set
  email = coalesce(nullif($2, ''), email), email_confirmed_at = $3, is_anonymous = false,
  raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || '{"email_verified": true}', updated_at = now()
where id = $1

-- name: set_email
-- Null removes it; it is proven only where $3 is a time. Codes sent to the old one are deleted.
with tokens as (delete from auth.one_time_tokens where user_id = $1)
update auth.users set
  email = nullif($2, ''), email_confirmed_at = $3, email_change = '', confirmation_token = '', recovery_token = '',
  email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
  phone_change_token = '', reauthentication_token = '', updated_at = now()
where id = $1

-- name: make_permanent
update auth.users set is_anonymous = false, updated_at = now() where id = $1

-- name: forget_phone
update auth.users set phone = null, phone_confirmed_at = null, phone_change = '', updated_at = now() where id = $1

-- name: forget_provider
delete from auth.identities where user_id = $1 and provider = $2

-- name: drop_ways_in
-- Everything that gives access to an account except its identities. $2 is the address that a code or a link has
-- just proven (`email`, `phone`): it stays, as do flows that wait for the link; empty: a provider has proven the email address.
with
  sessions as (delete from auth.sessions where user_id = $1),
  refresh_tokens as (delete from auth.refresh_tokens where user_id = $1::text),
  codes as (delete from auth.mfa_recovery_code_sets where user_id = $1),
  factors as (delete from auth.mfa_factors where user_id = $1),
  networks as (delete from auth.known_networks where user_id = $1),
  passkeys as (delete from auth.webauthn_credentials where user_id = $1),
  challenges as (delete from auth.webauthn_challenges where user_id = $1),
  flows as (delete from auth.flow_state where linking_target_id = $1
    or user_id = $1 and ($2 = '' or auth_code is not null)
  ),
  authorizations as (delete from auth.oauth_authorizations where user_id = $1),
  consents as (delete from auth.oauth_consents where user_id = $1),
  tokens as (delete from auth.one_time_tokens where user_id = $1)
update auth.users set
  email = case when $2 <> 'phone' then email end,
  email_confirmed_at = case when $2 <> 'phone' then email_confirmed_at end,
  encrypted_password = '', phone = case $2 when 'phone' then phone end,
  phone_confirmed_at = case $2 when 'phone' then phone_confirmed_at end, phone_change = '', email_change = '',
  confirmation_token = '', recovery_token = '', email_change_token_new = '', email_change_token_current = '',
  email_change_confirm_status = 0, phone_change_token = '', reauthentication_token = '', updated_at = now()
where id = $1
