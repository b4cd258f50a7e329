-- Workers, who log in without rights of their own, keep the partitions of messages: as the owner, and nothing else.
grant usage on schema realtime to authenticator;
set local role supabase_realtime_admin;

alter function realtime.keep_partitions() security definer;
grant execute on function realtime.keep_partitions() to authenticator;

reset role;
