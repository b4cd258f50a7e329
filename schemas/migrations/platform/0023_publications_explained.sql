-- `create publication ... for all tables` by role postgres says what to do instead.
-- as: superuser

-- The server asks for a superuser inside of the command, so no function can do its work: an event trigger runs before the question, but
-- it can neither answer it nor leave the command out, and lending the role a superuser's rights for the command would give them
-- to whatever the command's text evaluates. So this trigger fails first, with the same error and a hint. It does so for a command that
-- the client sent by itself; inside of functions and `do` blocks the server's own error follows.
create or replace function headwater.explain_publications() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sent constant text := pg_catalog.current_query();
  head constant text := '^\s*(?:create|alter)\s+publication\s+(?:"(?:[^"]|"")+"|[[:alpha:]_][[:alnum:]_$]*)\s+(?:for|add|set)\s+';
begin
  if exists (select from pg_catalog.pg_roles as caller where caller.rolname = current_user and caller.rolsuper) then
    return;
  elsif sent ~* (head || 'all\s+tables\M') then
    raise exception 'must be superuser to create FOR ALL TABLES publication'
      using errcode = 'insufficient_privilege',
        hint = 'In a migration of the project this statement works. Elsewhere: select headwater.publish_all_tables(''name'', null); '
          'or name the tables: create publication name for table a, b;';
  elsif sent ~* (head || 'tables\s+in\s+schema\M') then
    raise exception 'must be superuser to create FOR TABLES IN SCHEMA publication'
      using errcode = 'insufficient_privilege',
        hint = 'Name the tables: create publication name for table a, b;';
  end if;
end $$;
revoke all on function headwater.explain_publications() from public;

drop event trigger if exists headwater_explain_publications;
create event trigger headwater_explain_publications on ddl_command_start
  when tag in ('CREATE PUBLICATION', 'ALTER PUBLICATION') execute function headwater.explain_publications();
alter event trigger headwater_explain_publications enable always;
