-- The sessions of readers of the management interface see the statements of other roles (pg_stat_activity, pg_stat_statements).
-- No role of a project is a member of this one: role postgres sees the same as a member of pg_monitor.
-- as: superuser

grant pg_read_all_stats to supabase_read_only_user;
