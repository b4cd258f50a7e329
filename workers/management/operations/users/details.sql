-- One user of the project, for reading (details.py). Rows are one JSON value each; names are qualified, the search_path is empty.

-- name: user
select json_build_object('id', users.id, 'email', nullif(users.email, ''), 'phone', nullif(users.phone, ''),
  'role', users.role, 'aud', users.aud, 'has_password', $2::boolean,
  'new_email', nullif(users.email_change, ''), 'new_phone', nullif(users.phone_change, ''),
  'created_at', users.created_at, 'updated_at', users.updated_at, 'last_sign_in_at', users.last_sign_in_at,
  'email_confirmed_at', users.email_confirmed_at, 'phone_confirmed_at', users.phone_confirmed_at,
  'invited_at', users.invited_at, 'banned_until', users.banned_until, 'deleted_at', users.deleted_at,
  'is_anonymous', users.is_anonymous, 'is_sso_user', users.is_sso_user,
  'user_metadata', coalesce(users.raw_user_meta_data, '{}'), 'app_metadata', coalesce(users.raw_app_meta_data, '{}'),
  'identities', coalesce((
    select json_agg(json_build_object('id', identity.id, 'provider', identity.provider, 'provider_id', identity.provider_id,
      'email', identity.email, 'identity_data', identity.identity_data, 'created_at', identity.created_at,
      'last_sign_in_at', identity.last_sign_in_at) order by identity.created_at, identity.id)
    from auth.identities as identity where identity.user_id = users.id), '[]'),
  'factors', coalesce((
    select json_agg(json_build_object('id', factor.id, 'type', factor.factor_type, 'status', factor.status,
      'name', factor.friendly_name, 'phone', factor.phone, 'created_at', factor.created_at,
      'last_challenged_at', factor.last_challenged_at) order by factor.created_at, factor.id)
    from auth.mfa_factors as factor where factor.user_id = users.id), '[]'),
  'passkeys', coalesce((
    select json_agg(json_build_object('id', passkey.id, 'name', passkey.friendly_name, 'created_at', passkey.created_at,
      'last_used_at', passkey.last_used_at) order by passkey.created_at, passkey.id)
    from auth.webauthn_credentials as passkey where passkey.user_id = users.id), '[]'),
  'sessions', coalesce((
    select json_agg(json_build_object('id', session.id, 'created_at', session.created_at,
      'refreshed_at', session.refreshed_at at time zone 'UTC', 'not_after', session.not_after, 'aal', session.aal,
      'user_agent', session.user_agent, 'ip', host(session.ip), 'oauth_client_id', session.oauth_client_id))
    from (select sessions.id, sessions.created_at, sessions.refreshed_at, sessions.not_after, sessions.aal, sessions.user_agent,
        sessions.ip, sessions.oauth_client_id
      from auth.sessions where sessions.user_id = users.id order by sessions.created_at desc limit 100) as session), '[]'))
from auth.users where users.id = $1::uuid

-- name: has_password
-- As role postgres: readers do not read the column.
select coalesce(encrypted_password, '') operator(pg_catalog.<>) '' from auth.users where id operator(pg_catalog.=) $1::pg_catalog.uuid

-- name: foreign_keys
-- What refers to the id of users; keys of partitions are those of their table.
select json_build_object('name', con.conname, 'schema', namespace.nspname, 'table', class.relname,
  'columns', (select json_agg(attribute.attname order by key.place)
    from unnest(con.conkey) with ordinality as key (number, place)
    join pg_catalog.pg_attribute as attribute on attribute.attrelid = con.conrelid and attribute.attnum = key.number),
  'action', con.confdeltype,
  'has_index', exists (select from pg_catalog.pg_index as index
    where index.indrelid = con.conrelid and index.indisvalid and index.indkey[0] = con.conkey[1]))
from pg_catalog.pg_constraint as con
join pg_catalog.pg_class as class on class.oid = con.conrelid
join pg_catalog.pg_namespace as namespace on namespace.oid = class.relnamespace
where con.contype = 'f' and con.conparentid = 0 and con.confrelid = 'auth.users'::regclass
order by namespace.nspname, class.relname, con.conname
limit 500
