-- Users and identities (users.py). All run as supabase_auth_admin. Queries for users return one JSON object per row.

-- name: by_id
-- Softly deleted users are found only with $2.
select row_to_json(shown) from (
  select users.*,
    coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
    coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
  from auth.users
  where users.id = $1 and (users.deleted_at is null or $2::boolean)
) shown

-- name: by_id_with_session
-- A user, and of a session what says whose it is and what it may do.
select row_to_json(shown), (
  select json_build_object('user_id', s.user_id, 'oauth_client_id', s.oauth_client_id, 'scopes', s.scopes)
  from auth.sessions s where s.id = $2
)
from (
  select users.*,
    coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
    coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
  from auth.users
  where users.id = $1 and users.deleted_at is null
) shown

-- name: by_session
-- The user of a session.
select row_to_json(shown) from (
  select users.*,
    coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
    coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
  from auth.users
  where users.id = (select user_id from auth.sessions where sessions.id = $1) and users.deleted_at is null
) shown

-- name: password_by_email
-- Only the columns that a password sign-in checks before the hash.
select row_to_json(shown) from (
  select id, aud, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at, banned_until, is_sso_user,
    raw_user_meta_data
  from auth.users
  where lower(users.email) = $1 and users.aud = $2 and users.deleted_at is null and not users.is_sso_user
  order by users.created_at
  limit 1
) shown

-- name: password_by_phone
select row_to_json(shown) from (
  select id, aud, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at, banned_until, is_sso_user,
    raw_user_meta_data
  from auth.users
  where users.phone = $1 and users.aud = $2 and users.deleted_at is null
) shown

-- name: by_email
select row_to_json(shown) from (
  select users.*,
    coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
    coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
  from auth.users
  where lower(users.email) = $1 and users.aud = $2 and users.deleted_at is null and not users.is_sso_user
  order by users.created_at
  limit 1
) shown

-- name: by_phone
select row_to_json(shown) from (
  select users.*,
    coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
    coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
  from auth.users
  where users.phone = $1 and users.aud = $2 and users.deleted_at is null
) shown

-- name: lock
-- Locks a user until the transaction ends; inserts that refer to it, such as new sessions, are not blocked.
select 1 from auth.users where id = $1 for no key update

-- name: insert
insert into auth.users (
  instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
  raw_app_meta_data, raw_user_meta_data, is_super_admin, is_anonymous, banned_until, confirmation_token, recovery_token,
  email_change_token_new, email_change, created_at, updated_at
) values (
  '00000000-0000-0000-0000-000000000000', $1, $2, $3, nullif($4, ''), nullif($5, ''), $6, $7, $8,
  $9, $10, false, $11, $12, '', '', '', '', now(), now()
)

-- name: insert_identity
insert into auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
values ($1, $2, $3, $4, now(), now(), now())

-- name: update
-- Null leaves a column as it is.
update auth.users set
  email = coalesce($2, email),
  phone = coalesce($3, phone),
  encrypted_password = coalesce($4, encrypted_password),
  raw_user_meta_data = coalesce($5, raw_user_meta_data),
  raw_app_meta_data = coalesce($6, raw_app_meta_data),
  role = coalesce($7, role),
  email_confirmed_at = coalesce($8, email_confirmed_at),
  phone_confirmed_at = coalesce($9, phone_confirmed_at),
  is_anonymous = coalesce($10, is_anonymous),
  email_change = coalesce($11, email_change),
  email_change_confirm_status = coalesce($12::smallint, email_change_confirm_status),
  phone_change = coalesce($13, phone_change),
  invited_at = coalesce($14, invited_at),
  updated_at = now()
where id = $1

-- name: renew_hash
-- Only if the password has not been changed since.
update auth.users set encrypted_password = $2 where id = $1 and encrypted_password = $3

-- name: ban
update auth.users set banned_until = $2, updated_at = now() where id = $1

-- name: move_identity
-- The identity of an address follows the address.
update auth.identities set identity_data = identity_data || $3::jsonb, updated_at = now()
where user_id = $1 and provider = $2
returning 1

-- name: verify_identity
-- Marks the identity of a confirmed address as verified.
update auth.identities set identity_data = identity_data || jsonb_build_object($2::text || '_verified', true), updated_at = now()
where user_id = $1 and provider = $2

-- name: delete
delete from auth.users where id = $1 returning 1

-- name: soften
-- The row stays for foreign keys that refer to it: addresses are hashed, credentials are deleted.
update auth.users set
  email = translate(encode(sha256(convert_to(id || email, 'UTF8')), 'base64'), E'+/=\n', '-_'),
  phone = left(translate(encode(sha256(convert_to(id || phone, 'UTF8')), 'base64'), E'+/=\n', '-_'), 15),
  encrypted_password = '', raw_user_meta_data = '{}', raw_app_meta_data = '{}', email_change = '', phone_change = '',
  confirmation_token = '', recovery_token = '', email_change_token_new = '', email_change_token_current = '',
  phone_change_token = '', reauthentication_token = '', deleted_at = now(), updated_at = now()
where id = $1 and deleted_at is null
returning 1

-- name: soften_identities
update auth.identities set
  provider_id = translate(encode(sha256(convert_to(user_id || provider_id, 'UTF8')), 'base64'), E'+/=\n', '-_'),
  identity_data = '{}', updated_at = now()
where user_id = $1

-- name: forget_factors
delete from auth.mfa_factors where user_id = $1

-- name: forget_passkeys
delete from auth.webauthn_credentials where user_id = $1

-- name: forget_codes
with columns as (
  update auth.users set
    confirmation_token = '', recovery_token = '', email_change_token_new = '', email_change_token_current = '',
    phone_change_token = '', reauthentication_token = ''
  where id = $1 and concat(confirmation_token, recovery_token, email_change_token_new, email_change_token_current,
    phone_change_token, reauthentication_token) <> ''
)
delete from auth.one_time_tokens
where id in (select id from auth.one_time_tokens where user_id = $1 order by id for update)
