-- Consents by OAuth (grants.py). Rows are one JSON value each; codes and tokens are digests.

-- name: add_grant
-- At most 100 of an administrator: the oldest make room.
with room as (
  delete from headwater.administrator_grants where id in (
    select id from headwater.administrator_grants where administrator_id = $1::uuid order by created_at desc offset 99
  )
)
insert into headwater.administrator_grants
  (administrator_id, client, client_digest, redirect_uri, resource, rights, may_write, code, code_challenge, code_expires_at, expires_at)
values ($1::uuid, $2, $3::bytea, $4, $5, $6, $7::boolean, $8::bytea, $9, now() + interval '1 minute', now() + interval '1 minute')
returning json_build_object('id', id)

-- name: redeem_code
-- Once, by the client of the consent, with the verifier of the request.
update headwater.administrator_grants set code_used_at = now(), refresh = $5::bytea, refreshed_at = now(), expires_at = now() + $6::float8 * interval '1 second'
where code = $1::bytea and code_used_at is null and code_expires_at > now()
  and client_digest = $2::bytea and redirect_uri = $3 and code_challenge = $4
returning json_build_object('id', id, 'client', client, 'resource', resource, 'rights', rights, 'may_write', may_write,
  'administrator_id', administrator_id)

-- name: revoke_by_code
-- A code that comes twice, or from another client, was stolen: what it gave ends.
delete from headwater.administrator_grants where code = $1::bytea returning json_build_object('id', id)

-- name: refresh_grant
update headwater.administrator_grants
set refresh = $3::bytea, former_refresh = refresh, refreshed_at = now(), expires_at = now() + $4::float8 * interval '1 second'
where refresh = $1::bytea and client_digest = $2::bytea and expires_at > now()
returning json_build_object('id', id, 'client', client, 'resource', resource, 'rights', rights, 'may_write', may_write,
  'administrator_id', administrator_id)

-- name: revoke_by_former_refresh
-- A refresh token that comes twice was stolen, unless two windows of one program refresh at once.
delete from headwater.administrator_grants where former_refresh = $1::bytea and refreshed_at < now() - interval '10 seconds'
returning json_build_object('id', id)

-- name: add_grant_token
with ended as (delete from headwater.administrator_tokens where grant_id = $7::uuid and expires_at < now())
insert into headwater.administrator_tokens (name, secret, hint, rights, may_write, administrator_id, grant_id, expires_at)
values ($1, $2::bytea, $3, $4, $5::boolean, $6::uuid, $7::uuid, now() + $8::float8 * interval '1 second')
returning json_build_object('id', id)

-- name: revoke_by_token
-- RFC 7009: by an access or a refresh token, of its own client.
delete from headwater.administrator_grants as agent
where agent.client_digest = $2::bytea and (agent.refresh = $1::bytea
  or agent.id = (select grant_id from headwater.administrator_tokens where secret = $1::bytea))
returning json_build_object('id', id)

-- name: grants
select json_build_object('id', id, 'client', client, 'redirect_uri', redirect_uri, 'rights', rights, 'may_write', may_write,
  'administrator_id', administrator_id, 'created_at', created_at, 'expires_at', expires_at, 'used_at',
  (select max(coalesce(token.used_at, token.created_at)) from headwater.administrator_tokens as token where token.grant_id = agent.id))
from headwater.administrator_grants as agent
where code_used_at is not null and expires_at > now() and ($1::uuid is null or administrator_id = $1::uuid)
order by created_at desc limit 1000

-- name: remove_grant
delete from headwater.administrator_grants where id = $1::uuid and ($2::uuid is null or administrator_id = $2::uuid)
returning json_build_object('id', id)
