-- Administrators, sessions, tokens, links and audit rows. Rows are one JSON value each. Addresses, `email` and `actor` are sealed, and
-- so are the documents of audit rows about accounts (personal_data.py).

-- name: administrators
select json_build_object('id', id, 'email', email, 'rights', rights, 'has_password', password is not null,
  'has_totp', totp is not null,
  'passkeys', (select count(*) from headwater.administrator_passkeys where administrator_id = administrators.id),
  'created_at', created_at, 'signed_in_at', signed_in_at, 'disabled_at', disabled_at, 'role', role_name)
from headwater.administrators order by created_at, id

-- name: administrator
select json_build_object('id', id, 'email', email, 'rights', rights, 'has_password', password is not null,
  'has_totp', totp is not null,
  'passkeys', (select count(*) from headwater.administrator_passkeys where administrator_id = administrators.id),
  'created_at', created_at, 'signed_in_at', signed_in_at, 'disabled_at', disabled_at, 'role', role_name)
from headwater.administrators where id = $1::uuid

-- name: lock_owners
-- Locks the enabled owners, so that two requests cannot remove the last two of them at once.
select json_build_object('id', id) from headwater.administrators
where rights = 'owner' and disabled_at is null order by id for update

-- name: add_administrator
-- Fails with 23503 for a role that is not there.
insert into headwater.administrators (email, email_key, rights, role_name) values ($1, $2::bytea, $3, $4)
on conflict do nothing
returning json_build_object('id', id, 'email', email, 'rights', rights, 'has_password', password is not null,
  'has_totp', false, 'passkeys', 0, 'created_at', created_at, 'signed_in_at', null, 'disabled_at', null, 'role', role_name)

-- name: change_rights
update headwater.administrators set rights = $2,
  disabled_at = case when $3::boolean then coalesce(disabled_at, now()) end,
  role_name = case when $4::boolean then $5 when $2 = 'developer' then role_name end
where id = $1::uuid returning json_build_object('id', id)

-- name: change_email
-- Fails with 23505 if another administrator has this address.
update headwater.administrators set email = $2, email_key = $3::bytea
where id = $1::uuid returning json_build_object('id', id)

-- name: remove_administrator
delete from headwater.administrators where id = $1::uuid returning json_build_object('id', id)

-- name: set_password
update headwater.administrators set password = $2 where id = $1::uuid returning json_build_object('id', id)

-- name: by_email
select json_build_object('id', id, 'email', email, 'password', password, 'has_totp', totp is not null,
  'passkeys', (select count(*) from headwater.administrator_passkeys where administrator_id = administrators.id))
from headwater.administrators where email_key = $1::bytea and disabled_at is null

-- name: note_sign_in
update headwater.administrators set signed_in_at = now() where id = $1::uuid

-- name: add_link
insert into headwater.administrator_links (secret, administrator_id, expires_at)
values ($1::bytea, $2::uuid, now() + $3::float8 * interval '1 second')

-- name: use_link
delete from headwater.administrator_links as link using headwater.administrators as administrator
where link.secret = $1::bytea and link.expires_at > now()
  and administrator.id = link.administrator_id and administrator.disabled_at is null
returning json_build_object('id', administrator.id, 'email', administrator.email, 'has_totp', administrator.totp is not null,
  'passkeys', (select count(*) from headwater.administrator_passkeys where administrator_id = administrator.id))

-- name: add_session
insert into headwater.administrator_sessions (administrator_id, secret, address, user_agent, method, needs_factor)
values ($1::uuid, $2::bytea, $3, $4, $5, $6::boolean) returning json_build_object('id', id)

-- name: session_actor
-- The administrator of a session; using it extends its life, at most once a minute. One that lacks its factor lives $4 seconds.
with used as (
  update headwater.administrator_sessions set used_at = now()
  where secret = $1::bytea and used_at < now() - interval '1 minute' and used_at > now() - $2::float8 * interval '1 second'
)
select json_build_object('name', administrator.email, 'rights', administrator.rights, 'may_write', true,
  'is_confirmed', session.confirmed_at > now() - $3::float8 * interval '1 second',
  'administrator_id', administrator.id, 'session_id', session.id, 'needs_factor', session.needs_factor, 'limits', (
    select json_build_object('name', role.name, 'areas', role.areas, 'tables', role.tables)
    from headwater.administrator_roles as role where role.name = administrator.role_name
  ))
from headwater.administrator_sessions as session
join headwater.administrators as administrator on administrator.id = session.administrator_id
where session.secret = $1::bytea and session.used_at > now() - $2::float8 * interval '1 second'
  and administrator.disabled_at is null
  and not (session.needs_factor and session.created_at < now() - $4::float8 * interval '1 second')

-- name: confirm_session
update headwater.administrator_sessions set confirmed_at = now() where id = $1::uuid

-- name: sessions
select json_build_object('id', id, 'administrator_id', administrator_id, 'created_at', created_at, 'used_at', used_at,
  'confirmed_at', confirmed_at, 'address', address, 'user_agent', user_agent, 'method', method, 'needs_factor', needs_factor,
  'is_current', id is not distinct from $3::uuid)
from headwater.administrator_sessions
where ($1::uuid is null or administrator_id = $1::uuid) and used_at > now() - $2::float8 * interval '1 second'
order by used_at desc limit 1000

-- name: end_session
delete from headwater.administrator_sessions
where id = $1::uuid and ($2::uuid is null or administrator_id = $2::uuid) returning json_build_object('id', id)

-- name: end_sessions_of
delete from headwater.administrator_sessions where administrator_id = $1::uuid and id is distinct from $2::uuid

-- name: token_actor
with used as (
  update headwater.administrator_tokens set used_at = now()
  where secret = $1::bytea and (used_at is null or used_at < now() - interval '1 minute')
)
select json_build_object('name', 'token ' || token.name,
  'rights', case when administrator.id is null or token.rights = 'reader' then token.rights
    when administrator.rights = 'owner' then token.rights
    when administrator.rights = 'developer' and token.rights = 'owner' then 'developer'
    when administrator.rights = 'reader' then 'reader' else token.rights end,
  'may_write', token.may_write, 'is_confirmed', true, 'administrator_id', token.administrator_id, 'token_id', token.id,
  'resource', agent.resource, 'limits', (
    select json_build_object('name', role.name, 'areas', role.areas, 'tables', role.tables)
    from headwater.administrator_roles as role where role.name = administrator.role_name
  ))
from headwater.administrator_tokens as token
left join headwater.administrator_grants as agent on agent.id = token.grant_id
left join headwater.administrators as administrator on administrator.id = token.administrator_id
where token.secret = $1::bytea and (token.expires_at is null or token.expires_at > now()) and administrator.disabled_at is null

-- name: tokens
select json_build_object('id', id, 'name', name, 'hint', hint, 'rights', rights, 'may_write', may_write,
  'created_at', created_at, 'administrator_id', administrator_id, 'used_at', used_at, 'expires_at', expires_at)
from headwater.administrator_tokens where grant_id is null and ($1::uuid is null or administrator_id = $1::uuid)
order by created_at desc limit 1000

-- name: add_token
-- Returns no row if the administrator has as many as are allowed: `tokens` shows no more.
insert into headwater.administrator_tokens (name, secret, hint, rights, may_write, administrator_id, expires_at)
select $1, $2::bytea, $3, $4, $5::boolean, $6::uuid, now() + $7::float8 * interval '1 second'
where (
  select count(*) from headwater.administrator_tokens where grant_id is null and administrator_id is not distinct from $6::uuid
) < $8::int8
returning json_build_object('id', id, 'name', name, 'hint', hint, 'rights', rights, 'may_write', may_write,
  'created_at', created_at, 'administrator_id', administrator_id, 'used_at', null, 'expires_at', expires_at)

-- name: remove_token
delete from headwater.administrator_tokens
where id = $1::uuid and grant_id is null and ($2::uuid is null or administrator_id = $2::uuid) returning json_build_object('id', id)

-- name: count_attempt
-- Counts an attempt for a key before it is decided; no row if the key has failed $2 times within $3 seconds.
insert into headwater.administrator_attempts as attempt (key, failures, since) values ($1::bytea, 1, now())
on conflict (key) do update set
  failures = case when attempt.since < now() - $3::float8 * interval '1 second' then 1 else attempt.failures + 1 end,
  since = case when attempt.since < now() - $3::float8 * interval '1 second' then now() else attempt.since end
where attempt.failures < $2::integer or attempt.since < now() - $3::float8 * interval '1 second'
returning json_build_object('failures', failures)

-- name: forget_attempt
-- Takes back one attempt, which succeeded.
update headwater.administrator_attempts set failures = greatest(failures - 1, 0) where key = $1::bytea

-- name: forget_attempts
delete from headwater.administrator_attempts where key = $1::bytea

-- name: add_audit
insert into headwater.administrator_audit
  (actor, administrator_id, token_id, operation, outcome, request_id, address, arguments, before, after)
values ($1, $2::uuid, $3::uuid, $4, $5, $6, $7, $8::jsonb, $9::jsonb, $10::jsonb)

-- name: audit
select json_build_object('id', id, 'at', at, 'actor', actor, 'operation', operation, 'outcome', outcome,
  'request_id', request_id, 'address', address, 'arguments', arguments, 'before', before, 'after', after)
from headwater.administrator_audit
where ($1::bigint is null or id < $1::bigint) and ($2::text is null or operation = $2::text)
order by id desc limit $3::integer

-- name: plain_administrators
-- Rows of a version that stored addresses as they are.
select json_build_object('id', id, 'email', email) from headwater.administrators where email_key is null

-- name: seal_administrator
update headwater.administrators set email = $2, email_key = $3::bytea where id = $1::uuid and email_key is null

-- name: plain_sessions
select json_build_object('id', id, 'address', address, 'user_agent', user_agent)
from headwater.administrator_sessions where address not like 'sealed text:%' limit 1000

-- name: seal_session
update headwater.administrator_sessions set address = $2, user_agent = $3
where id = $1::uuid and address not like 'sealed text:%'

-- name: plain_audit
select json_build_object('id', id, 'operation', operation, 'actor', actor, 'address', address, 'arguments', arguments,
  'before', before, 'after', after)
from headwater.administrator_audit where actor not like 'sealed text:%' order by id limit 200

-- name: seal_audit
select headwater.seal_administrator_audit($1::bigint, $2, $3, $4::jsonb, $5::jsonb, $6::jsonb)

-- name: sweep
-- Deletes what has expired: sessions, links, tokens a month after their end, counters.
with old_links as (delete from headwater.administrator_links where expires_at < now()),
  old_tokens as (delete from headwater.administrator_tokens where expires_at < now() - interval '30 days'),
  old_grants as (delete from headwater.administrator_grants where expires_at < now()),
  old_attempts as (delete from headwater.administrator_attempts where since < now() - interval '1 day' or since > now() + interval '1 minute')
delete from headwater.administrator_sessions where used_at < now() - $1::float8 * interval '1 second'

-- name: sweep_audit
select headwater.sweep_administrator_audit(now() - $1::float8 * interval '1 second', 1000)

-- name: roles
select json_build_object('name', name, 'areas', areas, 'tables', tables,
  'administrators', (select count(*) from headwater.administrators where role_name = name))
from headwater.administrator_roles order by name limit 1000

-- name: save_role
insert into headwater.administrator_roles (name, areas, tables) values ($1, $2::json, $3::json)
on conflict (name) do update set areas = excluded.areas, tables = excluded.tables, changed_at = now()
returning json_build_object('name', name, 'areas', areas, 'tables', tables,
  'administrators', (select count(*) from headwater.administrators where role_name = name))

-- name: remove_role
-- Fails with 23503 while an administrator has it.
delete from headwater.administrator_roles where name = $1
returning json_build_object('name', name, 'areas', areas, 'tables', tables, 'administrators', 0)
