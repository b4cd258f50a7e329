-- Sets of recovery codes (recovery_codes.py). All run as supabase_auth_admin, with the user's row locked.

-- name: of_user
select row_to_json(shown) from (
  select id, mfa_factor_id as factor_id, failed_verification_count as failed, verification_locked_until as locked_until,
    (select friendly_name from auth.mfa_factors where mfa_factors.id = sets.mfa_factor_id) as friendly_name,
    (select count(*) from auth.mfa_recovery_codes where mfa_recovery_code_set_id = sets.id) as total,
    (select count(*) from auth.mfa_recovery_codes where mfa_recovery_code_set_id = sets.id and consumed_at is null)
      as remaining
  from auth.mfa_recovery_code_sets sets
  where user_id = $1
) shown

-- name: insert_set
insert into auth.mfa_recovery_code_sets (id, user_id, mfa_factor_id, created_at, updated_at) values ($1, $2, $3, $4, $4)

-- name: insert_codes
insert into auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash, created_at)
select gen_random_uuid(), $1, hash, $3 from jsonb_array_elements_text($2::jsonb) as hash

-- name: forget_codes
delete from auth.mfa_recovery_codes where mfa_recovery_code_set_id = $1

-- name: use
-- A code works once.
update auth.mfa_recovery_codes set consumed_at = $3
where mfa_recovery_code_set_id = $1 and code_hash = $2 and consumed_at is null
returning 1

-- name: count
update auth.mfa_recovery_code_sets set failed_verification_count = $2, verification_locked_until = $3, updated_at = $4
where id = $1
