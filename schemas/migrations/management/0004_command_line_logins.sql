-- Passwords of the logins of the official command line (roles/0008_command_line_logins.sql), which the pool management sets.
-- as: superuser

-- Set what the server stores of a password of such a login, and how many seconds it is valid. An empty verifier removes it.
create or replace function headwater.set_command_line_login(login text, verifier text, seconds double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if login not in ('cli_login_postgres', 'cli_login_supabase_read_only_user') then
    raise exception 'there is no such login' using errcode = '22023';
  end if;
  if verifier operator(pg_catalog.=) '' then
    execute pg_catalog.format('alter role %I password null', login);
    return;
  end if;
  if verifier !~ '^SCRAM-SHA-256[$]' then
    raise exception 'not a verifier of SCRAM-SHA-256' using errcode = '22023';
  end if;
  execute pg_catalog.format(
    'alter role %I password %L valid until %L',
    login, verifier, pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => seconds));
end $$;
revoke all on function headwater.set_command_line_login(text, text, double precision) from public;
grant execute on function headwater.set_command_line_login(text, text, double precision) to headwater_management;
