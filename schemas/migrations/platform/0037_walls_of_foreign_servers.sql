-- Foreign servers of role postgres reach public hosts, those of net.allow, and this server as a role of their owner.
-- as: superuser

-- Requests of SQL (pg_net, http) have the same rule. Options that name files of the machine are refused. Postgres resolves names when it connects, so a name that resolves to a private address is not seen here: that is the firewall's to close.
-- Servers of a superuser are the operator's and not checked.

-- An address, or null for a text that is none.
create or replace function headwater.read_address(source text) returns inet
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return source::inet;
exception when invalid_text_representation then
  return null;
end $$;
revoke all on function headwater.read_address(text) from public;

-- Whether the public network has an address: IPv6 as far as it is assigned and embeds no IPv4 address.
create or replace function headwater.is_public_address(address inet) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when family(address) = 4 then not address <<= any (array[
    '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24',
    '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4']::inet[])
  else address <<= '2000::/3' and not address <<= any (array['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']::inet[]) end
$$;
revoke all on function headwater.is_public_address(inet) from public;

-- Whether the setting net.allow names a host: by itself, with its port, or by its network.
create or replace function headwater.is_allowed_host(host text, port text, address inet) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from headwater.decisions, json_array_elements_text(value::json) as entry
    where name = 'net_allow' and (
      lower(rtrim(entry, '.')) in (host, concat('[', host, ']'), concat(host, ':', port), concat('[', host, ']:', port))
      or address <<= headwater.read_address(entry)))
$$;
revoke all on function headwater.is_allowed_host(text, text, inet) from public;

-- Why a server must not name a host, or null. `is_own` is true for this very server, by its loopback.
create or replace function headwater.check_foreign_host(host text, port text, out reason text, out is_own boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  plain constant text := lower(rtrim(host, '.'));
  address inet;
begin
  is_own := false;
  if plain = '' or plain ~ '^[/@]' then
    reason := 'the server names no host, so it would be reached by a socket of this machine';
    return;
  end if;
  -- What the C library reads as a number in another form (127.1, 0x7f000001, octal parts) would pass by the list below.
  if plain ~ ':' or plain ~ '^(.*\.)?(0x[0-9a-f]*|[0-9]+)$' then
    if plain ~ '^[0-9a-f:]+(:[0-9.]+)?$' or host ~ '^(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}$' then
      address := headwater.read_address(plain);
    end if;
    if address is null then
      reason := format('%L is no address in its usual form', host);
      return;
    end if;
  elsif plain !~ '^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$' then
    reason := format('%L is no name of a host', host);
    return;
  end if;
  if plain ~ '^(.*\.)?localhost$' or address <<= '127.0.0.0/8' or address = '::1' then
    is_own := port = current_setting('port');
    if is_own then
      return;
    end if;
  end if;
  if headwater.is_allowed_host(plain, port, address) then
    return;
  end if;
  if address is null and (plain !~ '\.' or plain ~ '\.(localhost|local|internal|lan|home\.arpa)$') then
    reason := format('%L is a name of a closed network', host);
  elsif not headwater.is_public_address(address) then
    reason := format('%L is at a private address', host);
  end if;
end $$;
revoke all on function headwater.check_foreign_host(text, text) from public;

-- Refuses a server of postgres_fdw whose options, or whose mappings, the rules of this file forbid.
create or replace function headwater.check_foreign_server(server oid) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  target record;
  options jsonb;
  hosts text[];
  addresses text[];
  ports text[];
  checked record;
  port text;
  reason text;
  reaches_itself boolean := false;
begin
  select srvname, srvowner, srvoptions into target
  from pg_foreign_server
  join pg_foreign_data_wrapper as wrapper on wrapper.oid = srvfdw
  join pg_proc as handler on handler.oid = wrapper.fdwhandler
  join pg_roles as owner on owner.oid = srvowner
  where pg_foreign_server.oid = server and handler.prosrc = 'postgres_fdw_handler' and not owner.rolsuper;
  if not found then
    return;
  end if;

  select coalesce(jsonb_object_agg(option_name, option_value), '{}') into options from pg_options_to_table(target.srvoptions);
  select format('option %L names files or secrets of this machine, or is not known to be harmless', option_name) into reason
  from pg_options_to_table(target.srvoptions)
  where option_name <> all (array[
      'host', 'hostaddr', 'port', 'dbname', 'options', 'connect_timeout', 'application_name', 'target_session_attrs', 'load_balance_hosts',
      'keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count', 'tcp_user_timeout', 'channel_binding', 'require_auth',
      'sslmode', 'sslnegotiation', 'sslsni', 'sslcompression', 'ssl_min_protocol_version', 'ssl_max_protocol_version', 'gssencmode',
      'min_protocol_version', 'max_protocol_version', 'extensions', 'fetch_size', 'batch_size', 'use_remote_estimate', 'fdw_startup_cost',
      'fdw_tuple_cost', 'async_capable', 'keep_connections', 'parallel_commit', 'parallel_abort', 'analyze_sampling', 'truncatable', 'updatable'])
    and not (option_name = 'sslrootcert' and option_value = 'system')
  limit 1;

  hosts := string_to_array(coalesce(options ->> 'host', ''), ',');
  addresses := string_to_array(coalesce(options ->> 'hostaddr', ''), ',');
  ports := string_to_array(coalesce(options ->> 'port', ''), ',');
  for place in 1 .. greatest(cardinality(hosts), cardinality(addresses), 1) loop
    exit when reason is not null;
    port := coalesce(nullif(case when cardinality(ports) = 1 then ports[1] else ports[place] end, ''), '5432');
    checked := headwater.check_foreign_host(coalesce(nullif(addresses[place], ''), hosts[place], ''), port);
    reason := checked.reason;
    reaches_itself := reaches_itself or checked.is_own;
  end loop;

  if reason is null then
    select format('a user mapping has option %L', option_name) into reason
    from pg_user_mapping, pg_options_to_table(umoptions)
    where umserver = server and option_name not in ('user', 'password') and not (option_name = 'password_required' and option_value::boolean)
    limit 1;
  end if;
  if reason is null and reaches_itself then
    select format('a user mapping would open a session of %L on this server', coalesce(named.option_value, 'the system''s user')) into reason
    from pg_user_mapping
    left join lateral (select option_value from pg_options_to_table(umoptions) where option_name = 'user') as named on true
    left join pg_roles as role on role.rolname = named.option_value
    where umserver = server and not coalesce(pg_has_role(target.srvowner, role.oid, 'MEMBER'), false)
    limit 1;
  end if;
  if reason is not null then
    raise exception 'foreign server %: %', quote_ident(target.srvname), reason using
      errcode = 'insufficient_privilege',
      hint = 'Public hosts may be reached, private ones that the setting net.allow names, and this server as a role that the owner may become.';
  end if;
end $$;
revoke all on function headwater.check_foreign_server(oid) from public;

create or replace function headwater.check_foreign_servers() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed oid;
begin
  for changed in
    select case when done.classid = 'pg_foreign_server'::regclass then done.objid else mapping.umserver end
    from pg_event_trigger_ddl_commands() as done
    left join pg_user_mapping as mapping on done.classid = 'pg_user_mapping'::regclass and mapping.oid = done.objid
    where done.classid in ('pg_foreign_server'::regclass, 'pg_user_mapping'::regclass)
  loop
    perform headwater.check_foreign_server(changed);
  end loop;
end $$;
revoke all on function headwater.check_foreign_servers() from public;

drop event trigger if exists headwater_foreign_servers;
create event trigger headwater_foreign_servers on ddl_command_end
  when tag in ('CREATE SERVER', 'ALTER SERVER', 'CREATE USER MAPPING', 'ALTER USER MAPPING')
  execute function headwater.check_foreign_servers();
alter event trigger headwater_foreign_servers enable always;
