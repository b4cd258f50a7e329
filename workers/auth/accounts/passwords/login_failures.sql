-- Failed sign-ins (login_failures.py). All run as supabase_auth_admin.

-- name: do_not_wait
-- Timing: a commit that waits for the disk would reveal that there was something to write.
select set_config('synchronous_commit', 'off', true)

-- name: insert
-- Writes nothing unless $3: the same work for unregistered addresses.
insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), $1::json, clock_timestamp(), $2 where $3::boolean
