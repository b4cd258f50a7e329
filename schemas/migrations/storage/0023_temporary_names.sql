-- Temporary types and tables hide nothing from functions that run with the rights of their owner, or in triggers.
-- as: supabase_storage_admin

-- An empty search path begins with pg_temp where types and tables are meant: a session could make a domain `text` there whose
-- check ran as the owner of the function.
do $$
declare
  changed pg_catalog.regprocedure;
begin
  -- What a project has dropped or given to another owner is its own affair.
  for changed in
    select pg_proc.oid::pg_catalog.regprocedure
    from pg_catalog.unnest(array[
      'storage.bury_deleted_objects()',
      'storage.bury_replaced_version()',
      'storage.bury_all_objects()',
      'storage.tell_new_objects()',
      'storage.tell_changed_object()',
      'storage.tell_deleted_objects()',
      'storage.tell_bucket()',
      'storage.count_changed_objects()',
      'storage.forget_usage()',
      'storage.add_usage(text[], bigint[], bigint[])',
      'storage.refuse_beyond_quota(text[], bigint[], bigint[])',
      'storage.recount_usage()',
      'storage.room_for(text, text)',
      'storage.protect_delete()',
      'storage.enforce_bucket_name_length()',
      'storage.update_updated_at_column()'
    ]) as name
    join pg_catalog.pg_proc on pg_proc.oid = pg_catalog.to_regprocedure(name)
    join pg_catalog.pg_roles on pg_roles.oid = proowner and rolname = current_user
  loop
    execute pg_catalog.format('alter function %s set search_path = pg_catalog, pg_temp', changed);
  end loop;
end $$;
