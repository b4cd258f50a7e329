-- Identity providers of single sign-on and visits there (providers.py). All run as supabase_auth_admin. Each that gives
-- providers gives one JSON object a row.

-- name: by_id
select row_to_json(shown) from (
  select p.id, p.resource_id, coalesce(p.disabled, false) as disabled, p.created_at, p.updated_at,
    (select row_to_json(s) from auth.saml_providers s where s.sso_provider_id = p.id limit 1) as saml,
    coalesce((select json_agg(d order by d.domain) from auth.sso_domains d where d.sso_provider_id = p.id), '[]') as domains
  from auth.sso_providers p where p.id = $1
) shown

-- name: by_resource_id
select id from auth.sso_providers where lower(resource_id) = lower($1)

-- name: by_domain
select sso_provider_id from auth.sso_domains where lower(domain) = lower($1)

-- name: by_entity_id
select sso_provider_id from auth.saml_providers where entity_id = $1

-- name: all
-- Without their metadata, which are long.
select row_to_json(shown) from (
  select p.id, p.resource_id, coalesce(p.disabled, false) as disabled, p.created_at, p.updated_at,
    (
      select to_jsonb(s) || '{"metadata_xml": ""}' from auth.saml_providers s where s.sso_provider_id = p.id limit 1
    ) as saml,
    coalesce((select json_agg(d order by d.domain) from auth.sso_domains d where d.sso_provider_id = p.id), '[]') as domains
  from auth.sso_providers p order by p.created_at, p.id
) shown

-- name: insert
insert into auth.sso_providers (id, resource_id, disabled, created_at, updated_at)
values ($1, nullif($2, ''), $3, now(), now())

-- name: insert_saml
insert into auth.saml_providers (
  id, sso_provider_id, entity_id, metadata_xml, metadata_url, attribute_mapping, name_id_format, metadata_asked_at,
  created_at, updated_at
) values (gen_random_uuid(), $1, $2, $3, nullif($4, ''), $5, nullif($6, ''), now(), now(), now())

-- name: lock
-- Keeps others from changing a provider until the transaction ends.
select 1 from auth.sso_providers where id = $1 for update

-- name: update
-- A null keeps what is there.
update auth.sso_providers set
  resource_id = coalesce($2, resource_id), disabled = coalesce($3, disabled), updated_at = now()
where id = $1

-- name: update_saml
-- A null keeps what is there; new metadata ($2) come with their address or take the old one away.
update auth.saml_providers set
  metadata_xml = coalesce($2, metadata_xml),
  metadata_url = case when $2 is null then metadata_url else nullif($3, '') end,
  attribute_mapping = coalesce($4, attribute_mapping),
  name_id_format = case when $5::text is null then name_id_format else nullif($5, '') end,
  updated_at = now()
where sso_provider_id = $1

-- name: clear_domains
delete from auth.sso_domains where sso_provider_id = $1

-- name: insert_domain
insert into auth.sso_domains (id, sso_provider_id, domain, created_at, updated_at)
values (gen_random_uuid(), $1, $2, now(), now())

-- name: delete
delete from auth.sso_providers where id = $1

-- name: ask_metadata
-- One worker asks at a time, and not again for a while ($2 is the present time, $3 that of the last try that counts). A time in the
-- future is that of a clock that was set back since.
update auth.saml_providers set metadata_asked_at = $2
where sso_provider_id = $1 and coalesce(
    metadata_asked_at <= $3::timestamptz or metadata_asked_at > $2::timestamptz + ($2::timestamptz - $3::timestamptz), true
  )
returning 1

-- name: renew_metadata
-- Unless an administrator has changed their address meanwhile.
update auth.saml_providers set metadata_xml = $2, updated_at = $3
where sso_provider_id = $1 and metadata_url = $4

-- name: add_relay_state
insert into auth.saml_relay_states (id, sso_provider_id, request_id, redirect_to, flow_state_id, created_at, updated_at)
values ($1, $2, $3, $4, nullif($5, '')::uuid, $6, $6)

-- name: visit
select row_to_json(saml_relay_states) from auth.saml_relay_states where id = $1

-- name: use_relay_state
-- It works once.
delete from auth.saml_relay_states where id = $1 returning 1

-- name: use_assertion
-- No row if it was used before. A few that nobody would believe any more go at the same time.
with gone as (
  delete from auth.saml_assertions where assertion_hash in (
    select assertion_hash from auth.saml_assertions where expires_at < $3::timestamptz
    order by expires_at limit 20 for update skip locked
  )
)
insert into auth.saml_assertions (assertion_hash, expires_at)
values (decode($1, 'hex'), $2)
on conflict (assertion_hash) do nothing
returning 1
