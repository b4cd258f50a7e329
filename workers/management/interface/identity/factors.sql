-- Second factors of administrators (totp_factor.py, recovery.py, passkeys.py, sign_in.py). Rows are one JSON value each.

-- name: enrol_totp
update headwater.administrators set totp_pending = $2::bytea where id = $1::uuid returning json_build_object('id', id)

-- name: totp_secrets
select json_build_object('active', convert_from(totp, 'UTF8'), 'pending', convert_from(totp_pending, 'UTF8'))
from headwater.administrators where id = $1::uuid

-- name: activate_totp
-- The pending secret becomes the active one, if it still is the one whose code was verified.
update headwater.administrators set totp = totp_pending, totp_pending = null, totp_step = $3::bigint
where id = $1::uuid and totp_pending = $2::bytea returning json_build_object('id', id)

-- name: use_totp_step
-- Uses up a time step: no row if a code of it, or of a later one, was accepted before.
update headwater.administrators set totp_step = $2::bigint
where id = $1::uuid and totp_step < $2::bigint returning json_build_object('id', id)

-- name: remove_totp
update headwater.administrators set totp = null, totp_pending = null
where id = $1::uuid and totp is not null returning json_build_object('id', id)

-- name: factors
select json_build_object('totp', totp is not null,
  'recovery_codes', (select count(*) from headwater.administrator_recovery_codes where administrator_id = administrators.id),
  'passkeys', (select count(*) from headwater.administrator_passkeys where administrator_id = administrators.id))
from headwater.administrators where id = $1::uuid

-- name: reset_factors
with passkeys as (delete from headwater.administrator_passkeys where administrator_id = $1::uuid),
  codes as (delete from headwater.administrator_recovery_codes where administrator_id = $1::uuid),
  links as (delete from headwater.administrator_links where administrator_id = $1::uuid),
  sessions as (delete from headwater.administrator_sessions where administrator_id = $1::uuid)
update headwater.administrators set totp = null, totp_pending = null where id = $1::uuid

-- name: forget_recovery_codes
delete from headwater.administrator_recovery_codes where administrator_id = $1::uuid

-- name: forget_unneeded_codes
-- Recovery codes replace a factor: without one they are deleted.
delete from headwater.administrator_recovery_codes as code using headwater.administrators as administrator
where code.administrator_id = $1::uuid and administrator.id = code.administrator_id and administrator.totp is null
  and not exists (select from headwater.administrator_passkeys as passkey where passkey.administrator_id = code.administrator_id)

-- name: add_recovery_codes
insert into headwater.administrator_recovery_codes (administrator_id, code)
select $1::uuid, decode(code, 'hex') from json_array_elements_text($2::json) as code

-- name: use_recovery_code
delete from headwater.administrator_recovery_codes
where administrator_id = $1::uuid and code = decode($2, 'hex') returning json_build_object('administrator_id', administrator_id)

-- name: add_challenge
insert into headwater.administrator_challenges (challenge, purpose, administrator_id, expires_at)
values (decode($1, 'hex'), $2, $3::uuid, now() + $4::float8 * interval '1 second') returning json_build_object('id', id)

-- name: take_challenge
-- Deletes a challenge; of two requests at once one gets it.
delete from headwater.administrator_challenges
where id = $1::uuid and purpose = $2 and expires_at > now() and (administrator_id is null or administrator_id = $3::uuid)
returning json_build_object('challenge', encode(challenge, 'hex'))

-- name: passkeys
select json_build_object('id', id, 'name', name, 'rp_id', rp_id, 'created_at', created_at, 'used_at', used_at,
  'is_backed_up', backed_up)
from headwater.administrator_passkeys where administrator_id = $1::uuid order by created_at, id

-- name: known_credentials
select json_build_object('id', encode(credential_id, 'hex'), 'transports', transports)
from headwater.administrator_passkeys where administrator_id = $1::uuid and rp_id = $2

-- name: lock_administrator
select json_build_object('id', id) from headwater.administrators where id = $1::uuid for update

-- name: add_passkey
insert into headwater.administrator_passkeys
  (administrator_id, credential_id, public_key, rp_id, sign_count, aaguid, transports, backup_eligible, backed_up, name)
values ($1::uuid, decode($2, 'hex'), decode($3, 'hex'), $4, $5::bigint, $6::uuid, $7::jsonb, $8::boolean, $9::boolean, $10)
on conflict (credential_id) do nothing
returning json_build_object('id', id, 'name', name, 'rp_id', rp_id, 'created_at', created_at, 'used_at', used_at,
  'is_backed_up', backed_up)

-- name: passkey_of_credential
-- Locked until its counter is stored, so that the counter advances once for each use.
select json_build_object('id', passkey.id, 'administrator_id', passkey.administrator_id, 'email', administrator.email,
  'public_key', encode(passkey.public_key, 'hex'), 'sign_count', passkey.sign_count, 'backup_eligible', passkey.backup_eligible)
from headwater.administrator_passkeys as passkey
join headwater.administrators as administrator on administrator.id = passkey.administrator_id
where passkey.credential_id = decode($1, 'hex') and passkey.rp_id = $2 and administrator.disabled_at is null
for update of passkey

-- name: use_passkey
update headwater.administrator_passkeys set sign_count = $2::bigint, backed_up = $3::boolean, used_at = now() where id = $1::uuid

-- name: rename_passkey
update headwater.administrator_passkeys set name = $3 where id = $1::uuid and administrator_id = $2::uuid
returning json_build_object('id', id, 'name', name, 'rp_id', rp_id, 'created_at', created_at, 'used_at', used_at,
  'is_backed_up', backed_up)

-- name: remove_passkey
delete from headwater.administrator_passkeys where id = $1::uuid and administrator_id = $2::uuid
returning json_build_object('id', id)

-- name: complete_session
-- The second factor was verified: the session gets a new secret, so that one that was seen before it is worth nothing.
update headwater.administrator_sessions set needs_factor = false, secret = $2::bytea, confirmed_at = now(), used_at = now()
where id = $1::uuid and needs_factor returning json_build_object('id', id)

-- name: end_session_of_secret
delete from headwater.administrator_sessions where secret = $1::bytea

-- name: is_known_network
select json_build_object('seen_at', seen_at) from headwater.administrator_networks as network
join headwater.administrators as administrator on administrator.id = network.administrator_id
where administrator.email_key = $1::bytea and network.network = $2::bytea

-- name: remember_network
insert into headwater.administrator_networks (administrator_id, network) values ($1::uuid, $2::bytea)
on conflict (administrator_id, network) do update set seen_at = now()

-- name: sweep_factors
-- Deletes challenges that ended, sessions that wait for their factor, networks not seen for half a year.
with old_challenges as (delete from headwater.administrator_challenges where expires_at < now()),
  old_networks as (delete from headwater.administrator_networks where seen_at < now() - interval '180 days')
delete from headwater.administrator_sessions where needs_factor and created_at < now() - $1::float8 * interval '1 second'
