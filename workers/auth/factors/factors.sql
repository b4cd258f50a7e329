-- Second factors and their challenges (factors.py). All run as supabase_auth_admin, with the user's row locked.

-- name: of_user
-- A factor with its secret.
select row_to_json(shown) from (
  select id, user_id, factor_type, status, created_at, secret, phone, friendly_name, last_challenged_at, last_totp_step,
    web_authn_credential, web_authn_aaguid, last_webauthn_challenge_data
  from auth.mfa_factors
  where id = $1 and user_id = $2
) shown

-- name: insert
insert into auth.mfa_factors (
  id, user_id, factor_type, status, friendly_name, secret, phone, created_at, updated_at
) values ($1, $2, $3::auth.factor_type, $4::auth.factor_status, nullif($5, ''), nullif($6, ''), nullif($7, ''), $8, $8)

-- name: forget_stale
-- Factors that were never verified.
delete from auth.mfa_factors where user_id = $1 and status = 'unverified' and created_at < $2

-- name: forget_number
-- The unverified factor of a number: a new one replaces it.
delete from auth.mfa_factors where user_id = $1 and phone = $2 and status = 'unverified'

-- name: verify
update auth.mfa_factors set status = 'verified', updated_at = $2 where id = $1 and status = 'unverified' returning 1

-- name: forget_unfinished
-- Other unverified factors of a type.
delete from auth.mfa_factors
where user_id = $1 and factor_type = $2::auth.factor_type and status = 'unverified' and id <> $3

-- name: change
-- Null leaves a column as it is.
update auth.mfa_factors set
  friendly_name = case when $2::text is null then friendly_name else nullif($2, '') end,
  phone = coalesce($3, phone),
  updated_at = $4
where id = $1

-- name: delete
delete from auth.mfa_factors where id = $1

-- name: use_step
-- Each time step counts once, and none after a later one.
update auth.mfa_factors set last_totp_step = $2
where id = $1 and (last_totp_step is null or last_totp_step < $2)
returning 1

-- name: insert_challenge
insert into auth.mfa_challenges (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
values ($1, $2, $3, $4, nullif($5, ''), $6)

-- name: challenged
update auth.mfa_factors set last_challenged_at = $2 where id = $1

-- name: challenge
select row_to_json(shown) from (
  select id, factor_id, created_at, ip_address = $3::inet as is_from_here, verified_at, otp_code, web_authn_session_data,
    failed_attempts
  from auth.mfa_challenges
  where id = $1 and factor_id = $2
) shown

-- name: answer
update auth.mfa_challenges set verified_at = $2 where id = $1 and verified_at is null returning 1

-- name: fail
update auth.mfa_challenges set failed_attempts = failed_attempts + 1 where id = $1

-- name: failures
-- Wrong answers to challenges made since a time, and the oldest of these challenges.
select row_to_json(shown) from (
  select coalesce(sum(failed_attempts), 0) as count, min(created_at) as oldest
  from auth.mfa_challenges
  where factor_id = $1 and created_at > $2 and failed_attempts > 0
) shown

-- name: forget_challenges
delete from auth.mfa_challenges where factor_id = $1 and created_at < $2
