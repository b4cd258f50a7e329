-- The functions that switch the triggers of webhooks belong to the superuser: role postgres is a member of those that owned them.
-- as: superuser

-- An owner may `alter function ... security invoker set search_path = ...`: the function then ran names of the project as the login of the
-- pool management, which writes administrators. And before Postgres 18 a deferred trigger that an event trigger of the project sets off
-- runs at the commit as that login. Event triggers of the project do nothing for a superuser (headwater.copy_event_function).
create or replace function headwater.switch_storage_webhooks() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  is_there boolean;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 2);
  is_there := exists (
    select from pg_catalog.pg_trigger where tgrelid = 'storage.events_outbox'::regclass and tgname = 'headwater_webhooks'
  );
  if is_there = exists (select from headwater.webhooks as w where w.source = 'storage') then
    return;
  elsif is_there then
    drop trigger headwater_webhooks on storage.events_outbox;
  else
    create trigger headwater_webhooks after insert on storage.events_outbox
      for each row execute function headwater.send_storage_event();
    alter table storage.events_outbox enable always trigger headwater_webhooks;
  end if;
end $$;

create or replace function headwater.switch_auth_webhooks() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  is_there boolean;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 2);
  is_there := exists (
    select from pg_catalog.pg_trigger where tgrelid = 'auth.users'::regclass and tgname = 'headwater_webhooks'
  );
  if is_there = exists (select from headwater.webhooks as w where w.source = 'auth') then
    return;
  elsif is_there then
    drop trigger headwater_webhooks on auth.users;
  else
    create trigger headwater_webhooks after insert or update or delete on auth.users
      for each row execute function headwater.send_user_event();
    alter table auth.users enable always trigger headwater_webhooks;
  end if;
end $$;

alter function headwater.switch_storage_webhooks() owner to current_user;
alter function headwater.switch_auth_webhooks() owner to current_user;
revoke all on function headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks() from public, supabase_storage_admin, supabase_auth_admin;
grant execute on function headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks() to headwater_management, headwater_scheduler;
