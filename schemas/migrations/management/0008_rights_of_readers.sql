-- The role of readers reads what is the project's, table by table, and of the platform's tables what is no secret.
-- as: superuser

-- It was a member of pg_read_all_data, which opens every table: verifiers of passwords in pg_authid, options of user mappings, the tables of
-- administrators, hashes of users' passwords. Now it has rights on each table. New ones come by an event trigger, not by default privileges: those
-- belong to one creating role each, and a project's tables are created by any of its roles.

-- Grant readers what a list of relations and schemas holds, as far as it is the project's. GRANT runs no code of whoever owns what it names.
create or replace function headwater.open_to_readers(relations oid[], schemas oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  opened record;
begin
  for opened in
    select pg_catalog.quote_ident(nspname) as name from pg_catalog.pg_namespace
    where oid = any (schemas) and not pg_catalog.starts_with(nspname, 'pg_')
      and nspname not in ('information_schema', 'headwater', 'vault')
  loop
    execute pg_catalog.format('grant usage on schema %s to supabase_read_only_user', opened.name);
  end loop;
  for opened in
    select pg_catalog.format('%I.%I', space.nspname, relation.relname) as name,
      case relation.relkind when 'S' then 'sequence' else 'table' end as kind
    from pg_catalog.pg_class as relation
    join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
    join pg_catalog.pg_roles as owner on owner.oid = relation.relowner
    where relation.oid = any (relations) and relation.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not pg_catalog.starts_with(space.nspname, 'pg_')
      and space.nspname not in ('information_schema', 'headwater', 'vault')
      -- Tables of auth, storage and realtime are opened column by column below; others there are the project's.
      and not (
        space.nspname in ('auth', 'storage', 'realtime', '_realtime', 'supabase_functions')
        and (owner.rolsuper or pg_catalog.starts_with(owner.rolname, 'supabase_')))
      -- Of what belongs to an extension of the superuser's only these hold what is the project's; http keeps a password in a table.
      and not (
        owner.rolsuper and space.nspname not in ('cron', 'net', 'pgmq')
        and exists (
          select from pg_catalog.pg_depend as part
          where part.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and part.objid = relation.oid and part.deptype = 'e'))
  loop
    execute pg_catalog.format('grant select on %s %s to supabase_read_only_user', opened.kind, opened.name);
  end loop;
end $$;

-- Its own GRANT fires no event trigger: the change of the schema is marked once, by the statement that fired this one. Where the server has no such
-- setting (before Postgres 17) they fire, and the project's are guarded copies, which do nothing in a function of the superuser's.
create or replace function headwater.open_new_to_readers() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  relations oid[];
  schemas oid[];
  triggers constant text := pg_catalog.current_setting('event_triggers', true);
begin
  with made as (
    select classid, objid from pg_catalog.pg_event_trigger_ddl_commands()
    where schema_name is distinct from 'pg_temp' and (pg_catalog.starts_with(command_tag, 'CREATE') or command_tag = 'SELECT INTO')
    union
    select part.classid, part.objid
    from pg_catalog.pg_event_trigger_ddl_commands() as done
    join pg_catalog.pg_depend as part on part.refclassid = done.classid and part.refobjid = done.objid and part.deptype = 'e'
    where done.classid = 'pg_catalog.pg_extension'::pg_catalog.regclass
  )
  select
    pg_catalog.array_agg(objid) filter (where classid = 'pg_catalog.pg_class'::pg_catalog.regclass),
    pg_catalog.array_agg(objid) filter (where classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass)
  into relations, schemas
  from made;
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', 'off', true);
  end if;
  perform headwater.open_to_readers(relations, schemas);
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', triggers, true);
  end if;
end $$;
revoke all on function headwater.open_to_readers(oid[], oid[]), headwater.open_new_to_readers() from public;

drop event trigger if exists headwater_readers;
create event trigger headwater_readers on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW', 'CREATE FOREIGN TABLE',
    'IMPORT FOREIGN SCHEMA', 'CREATE SEQUENCE', 'CREATE SCHEMA', 'CREATE EXTENSION', 'ALTER EXTENSION')
  execute function headwater.open_new_to_readers();
alter event trigger headwater_readers enable always;

-- What is there.
select headwater.open_to_readers(
  (select pg_catalog.array_agg(oid) from pg_catalog.pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')),
  (select pg_catalog.array_agg(oid) from pg_catalog.pg_namespace));

-- The platform's tables: all columns but those that hold a secret, its hash, or a step of a sign-in under way.
do $$
declare
  hidden constant text[] := array[
    'auth.users.encrypted_password', 'auth.users.confirmation_token', 'auth.users.recovery_token',
    'auth.users.email_change_token_new', 'auth.users.email_change_token_current', 'auth.users.phone_change_token',
    'auth.users.reauthentication_token', 'auth.sessions.refresh_token_hmac_key', 'auth.refresh_tokens.token',
    'auth.refresh_tokens.parent', 'auth.one_time_tokens.token_hash', 'auth.mfa_factors.secret',
    'auth.mfa_factors.last_webauthn_challenge_data', 'auth.mfa_challenges.otp_code',
    'auth.mfa_challenges.web_authn_session_data', 'auth.mfa_recovery_codes.code_hash', 'auth.flow_state.auth_code',
    'auth.flow_state.code_challenge', 'auth.flow_state.provider_access_token', 'auth.flow_state.provider_refresh_token',
    'auth.flow_state.invite_token', 'auth.flow_state.browser_hash', 'auth.oauth_client_states.code_verifier',
    'auth.oauth_clients.client_secret_hash', 'auth.oauth_authorizations.authorization_id',
    'auth.oauth_authorizations.authorization_code', 'auth.oauth_authorizations.state',
    'auth.oauth_authorizations.code_challenge', 'auth.oauth_authorizations.nonce', 'auth.saml_relay_states.request_id',
    'auth.saml_relay_states.browser_hash', 'auth.webauthn_challenges.session_data',
    'auth.custom_oauth_providers.client_secret', 'auth.browser_departures.ticket_hash',
    'auth.browser_departures.destination', 'auth.web3_nonces.nonce_hash', 'storage.s3_access_keys.secret'
  ];
  opened record;
begin
  for opened in
    select pg_catalog.format('%I.%I', space.nspname, relation.relname) as name, relation.relkind,
      pg_catalog.string_agg(pg_catalog.quote_ident(attribute.attname), ', ')
        filter (where secret is null) as columns,
      pg_catalog.count(secret) as secrets
    from pg_catalog.pg_class as relation
    join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
    join pg_catalog.pg_roles as owner on owner.oid = relation.relowner
    left join pg_catalog.pg_attribute as attribute
      on attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped
    left join pg_catalog.unnest(hidden) as secret
      on secret = pg_catalog.concat_ws('.', space.nspname, relation.relname, attribute.attname)
    where space.nspname in ('auth', 'storage', 'realtime', '_realtime', 'supabase_functions')
      and relation.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and (owner.rolsuper or pg_catalog.starts_with(owner.rolname, 'supabase_'))
    group by space.nspname, relation.relname, relation.relkind
  loop
    if opened.relkind = 'S' then
      execute pg_catalog.format('grant select on sequence %s to supabase_read_only_user', opened.name);
    elsif opened.secrets = 0 then
      execute pg_catalog.format('grant select on table %s to supabase_read_only_user', opened.name);
    elsif opened.columns is not null then
      -- xmin is the version of a row in a page of rows.
      execute pg_catalog.format('grant select (%s, xmin, ctid, tableoid) on table %s to supabase_read_only_user', opened.columns, opened.name);
    end if;
  end loop;
end $$;

-- When the platform was made, for `project.describe`.
grant usage on schema headwater to supabase_read_only_user;
grant select (applied_at) on headwater.migrations to supabase_read_only_user;

-- Last, so that a reader is at no time without the rights above.
revoke pg_read_all_data from supabase_read_only_user cascade;
