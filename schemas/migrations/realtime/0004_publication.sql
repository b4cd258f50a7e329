-- The publication of messages, under the name of the table and not of its partitions.
-- as: superuser

do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime_messages_publication') then
    create publication supabase_realtime_messages_publication
      for table realtime.messages with (publish = 'insert', publish_via_partition_root = true);
  end if;
end $$;
