-- supabase_vault 0.3 written in SQL and PL/pgSQL: secrets are encrypted where they are stored, dumped and replicated.
--
-- How it is built:
-- - The key is in no table: it stands in the file `vault.key` beside the server's data folder, 64 hexadecimal digits a line,
--   readable by the server's user alone. The first line seals, every line opens: a new line on top begins a new key. Only
--   functions that run with the superuser's rights read it. Who has a dump, or a copy of the data folder, has no secret.
-- - Authenticated encryption from the server's own SHA-512 (encrypt, then authenticate): the keystream is HMAC-SHA-512 of
--   nonce and block number (counter mode), the tag HMAC-SHA-512 of nonce and ciphertext, cut to 32 bytes. Both keys are
--   derived from the master key and the id of the row, so that a value moved to another row does not open.
-- - A stored secret is `v1.` and the base64 of ciphertext and tag. A trigger that no setting switches off seals whatever is
--   written into the table in the clear; what is sealed already (the rows of a dump) stays as it is.

\echo Use "CREATE EXTENSION supabase_vault" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

create table vault.secrets (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  name text,
  description text not null default '',
  secret text not null,
  key_id uuid,
  nonce bytea,
  created_at timestamptz not null default current_timestamp,
  updated_at timestamptz not null default current_timestamp
);

create unique index secrets_name_idx on vault.secrets (name) where name is not null;

comment on table vault.secrets is 'Secrets, encrypted and authenticated with a key that stands outside the database';

select pg_catalog.pg_extension_config_dump('vault.secrets', '');


-- Keys

-- The master keys, the one that seals first.
create function vault._headwater_keys() returns bytea[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  path constant text := current_setting('data_directory') || '/../vault.key';
  keys bytea[];
begin
  select array_agg(decode(found.part[1], 'hex') order by found.place) into keys
  from regexp_matches(coalesce(pg_read_file(path, 0, 1048576, true), ''), '^\s*([0-9a-fA-F]{64})\s*$', 'gn')
    with ordinality as found (part, place);
  if keys is null then
    raise exception 'the vault has no key'
      using errcode = 'invalid_parameter_value',
        hint = 'Bring back the file vault.key beside the data folder of the database: 64 hexadecimal digits in a line.';
  end if;
  return keys;
end
$$;

create function vault._headwater_xor(a bytea, b bytea) returns bytea
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  -- Eight bytes at a time, the last ones filled up with zeros.
  select coalesce(substr(string_agg(
    int8send(
      ('x' || rpad(encode(substr(a, place, 8), 'hex'), 16, '0'))::bit(64)::bigint
      # ('x' || rpad(encode(substr(b, place, 8), 'hex'), 16, '0'))::bit(64)::bigint),
    '' order by place), 1, octet_length(a)), '')
  from generate_series(1, octet_length(a), 8) as place;
$$;

-- The two keys that HMAC makes of one of at most 128 bytes (RFC 2104): the inner and the outer.
create function vault._headwater_pads(key bytea) returns bytea[]
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select array[
    vault._headwater_xor(block, decode(repeat('36', 128), 'hex')), vault._headwater_xor(block, decode(repeat('5c', 128), 'hex'))
  ]
  from (select key || decode(repeat('00', 128 - octet_length(key)), 'hex') as block) as padded;
$$;

-- HMAC-SHA-512.
create function vault._headwater_hmac(key bytea, data bytea) returns bytea
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select sha512(pads[2] || sha512(pads[1] || data)) from vault._headwater_pads(key) as pads;
$$;

create function vault._headwater_key(master bytea, id uuid, purpose text) returns bytea
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select vault._headwater_hmac(master, convert_to('headwater vault 1 ' || purpose || ' ', 'UTF8') || uuid_send(id));
$$;

-- Data in counter mode: sealed and opened by the same steps.
create function vault._headwater_stream(key bytea, nonce bytea, data bytea) returns bytea
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select vault._headwater_xor(data, coalesce(string_agg(
    sha512(pads[2] || sha512(pads[1] || nonce || int4send(block))), '' order by block), ''))
  from vault._headwater_pads(key) as pads, generate_series(0, (octet_length(data) + 63) / 64 - 1) as block;
$$;

create function vault._headwater_tag(key bytea, nonce bytea, ciphertext bytea) returns bytea
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select substr(vault._headwater_hmac(key, nonce || ciphertext), 1, 32);
$$;

create function vault._headwater_seal(secret text, id uuid, nonce bytea) returns text
language plpgsql volatile strict
set search_path = pg_catalog, pg_temp
as $$
declare
  master constant bytea := (vault._headwater_keys())[1];
  ciphertext constant bytea :=
    vault._headwater_stream(vault._headwater_key(master, id, 'encrypt'), nonce, convert_to(secret, 'UTF8'));
  tag constant bytea := vault._headwater_tag(vault._headwater_key(master, id, 'authenticate'), nonce, ciphertext);
begin
  return 'v1.' || translate(encode(ciphertext || tag, 'base64'), E'\n', '');
end
$$;

-- The text of a sealed secret.
create function vault._headwater_open(sealed text, id uuid, nonce bytea) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  master bytea;
  stored bytea;
  ciphertext bytea;
begin
  if sealed ~ '^v1\.[A-Za-z0-9+/]{43,}={0,2}$' and id is not null and nonce is not null then
    begin
      stored := decode(substr(sealed, 4), 'base64');
    exception when invalid_parameter_value then
      stored := null;
    end;
    ciphertext := substr(stored, 1, octet_length(stored) - 32);
    foreach master in array vault._headwater_keys() loop
      -- Digests of the tags are compared, so that the time taken tells nothing of the right one.
      if sha256(vault._headwater_tag(vault._headwater_key(master, id, 'authenticate'), nonce, ciphertext))
        = sha256(substr(stored, octet_length(ciphertext) + 1))
      then
        return convert_from(
          vault._headwater_stream(vault._headwater_key(master, id, 'encrypt'), nonce, ciphertext), 'UTF8');
      end if;
    end loop;
  end if;
  raise exception 'secret % cannot be decrypted: it was changed, or sealed with another key', id
    using errcode = 'data_corrupted',
      hint = 'Add the key that it was sealed with as a further line of the file vault.key.';
end
$$;

create function vault._headwater_seal_row() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    if new.id <> old.id then
      raise exception 'the id of a secret cannot be changed' using errcode = 'feature_not_supported';
    elsif new.secret = old.secret then
      new.nonce := old.nonce;
      return new;
    end if;
  end if;
  if tg_op = 'INSERT' and new.nonce is not null and new.secret ~ '^v1\.[A-Za-z0-9+/]{43,}={0,2}$' then
    return new;
  end if;
  new.nonce := substr(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, 24);
  new.secret := vault._headwater_seal(new.secret, new.id, new.nonce);
  return new;
end
$$;

create trigger headwater_seal before insert or update on vault.secrets
  for each row execute function vault._headwater_seal_row();
alter table vault.secrets enable always trigger headwater_seal;


-- What projects use

create view vault.decrypted_secrets as
select
  id, name, description, secret, vault._headwater_open(secret, id, nonce) as decrypted_secret, key_id, nonce, created_at,
  updated_at
from vault.secrets;

create function vault.create_secret(
  new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null
) returns uuid
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into vault.secrets (secret, name, description, key_id)
  values (new_secret, new_name, coalesce(new_description, ''), new_key_id)
  returning id;
$$;

create function vault.update_secret(
  secret_id uuid, new_secret text default null, new_name text default null, new_description text default null,
  new_key_id uuid default null
) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  update vault.secrets
  set
    secret = coalesce(new_secret, secret),
    name = coalesce(new_name, name),
    description = coalesce(new_description, description),
    key_id = coalesce(new_key_id, key_id),
    updated_at = clock_timestamp()
  where id = secret_id;
$$;


-- Rights

revoke all on all functions in schema vault from public;

do $$
declare
  role text;
begin
  for role in
    select rolname from pg_catalog.pg_roles where rolname in ('postgres', 'service_role') and not rolsuper
  loop
    execute pg_catalog.format('grant usage on schema vault to %I', role);
    execute pg_catalog.format(
      'grant select, insert, update, delete on vault.secrets, vault.decrypted_secrets to %I %s', role,
      case role when 'postgres' then 'with grant option' end);
    execute pg_catalog.format(
      'grant execute on function vault.create_secret(text, text, text, uuid), '
      'vault.update_secret(uuid, text, text, text, uuid), vault._headwater_open(text, uuid, bytea) to %I %s', role,
      case role when 'postgres' then 'with grant option' end);
  end loop;
end $$;
