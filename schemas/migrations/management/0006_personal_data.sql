-- Addresses of administrators are stored sealed, and looked up by a keyed digest (workers/management/interface/identity/personal_data.py).
-- Roles that read all tables, and code of the project in their sessions, read nothing there that is of use to them.
-- as: superuser

alter table headwater.administrators
  add column if not exists email_key bytea,
  drop constraint if exists administrators_email_check;
drop index if exists headwater.administrators_email;
create unique index if not exists administrators_email_key on headwater.administrators (email_key);
comment on column headwater.administrators.email is 'Sealed; as typed in rows of an older version, until the pool management seals them';
comment on column headwater.administrators.email_key is 'HMAC of the address in lower case, with a key that the database does not have';
comment on column headwater.administrator_sessions.address is 'Sealed, and so is user_agent';
comment on column headwater.administrator_networks.network is 'HMAC of the network';
comment on column headwater.administrator_attempts.key is 'HMAC of what is counted: an address, a network';
comment on column headwater.administrator_audit.actor is
  'Sealed, and so are address and, of operations on accounts, arguments, before and after';

-- Keys of older versions were digests without a key. Counters and known networks start again.
delete from headwater.administrator_attempts;
delete from headwater.administrator_networks;

-- The few rows that are still to be sealed.
create index if not exists audit_plain on headwater.administrator_audit (id) where actor not like 'sealed text:%';

-- Replace the personal data of an audit row of an older version by the same data sealed. No other change of such a row is possible.
create or replace function headwater.seal_administrator_audit(
  row_id bigint, new_actor text, new_address text, new_arguments jsonb, new_before jsonb, new_after jsonb
) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update headwater.administrator_audit
  set actor = new_actor, address = new_address, arguments = new_arguments, before = new_before, after = new_after
  where id = row_id and actor not like 'sealed text:%' and new_actor like 'sealed text:%'
$$;
revoke all on function headwater.seal_administrator_audit(bigint, text, text, jsonb, jsonb, jsonb) from public;
grant execute on function headwater.seal_administrator_audit(bigint, text, text, jsonb, jsonb, jsonb) to headwater_management;
