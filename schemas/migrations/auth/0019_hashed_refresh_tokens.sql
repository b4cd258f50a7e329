-- A refresh token is stored as its SHA-256 in hexadecimal; one that comes in clear, as in an import, is hashed on its way.
-- as: supabase_auth_admin

create or replace function auth.hash_refresh_token() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if new.token !~ '^[0-9a-f]{64}$' then
    new.token := pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(new.token, 'UTF8')), 'hex');
  end if;
  if new.parent !~ '^([0-9a-f]{64})?$' then
    new.parent := pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(new.parent, 'UTF8')), 'hex');
  end if;
  return new;
end $$;

revoke all on function auth.hash_refresh_token() from public;

create or replace trigger hash_refresh_token before insert or update of token, parent on auth.refresh_tokens
  for each row execute function auth.hash_refresh_token();
alter table auth.refresh_tokens enable always trigger hash_refresh_token;

update auth.refresh_tokens set token = token, parent = parent
where token !~ '^[0-9a-f]{64}$' or parent !~ '^([0-9a-f]{64})?$';
