-- Workers, who log in without rights of their own, keep the partitions of messages: as the owner, and nothing else.
-- as: superuser

grant usage on schema realtime to authenticator;

-- as: supabase_realtime_admin

alter function realtime.keep_partitions() security definer;
grant execute on function realtime.keep_partitions() to authenticator;
