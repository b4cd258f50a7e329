-- Addresses that count as confirmed and were never proven (proofs.py). All run as supabase_auth_admin.

-- name: unproven
-- A row for an address that is not the user's any more is ignored.
select unproven.provider
from auth.unproven_addresses unproven join auth.users on users.id = unproven.user_id
where unproven.user_id = $1
  and unproven.address = case unproven.provider when 'email' then lower(users.email) else users.phone end

-- name: note
insert into auth.unproven_addresses (user_id, provider, address) values ($1, $2, $3)
on conflict (user_id, provider) do update set address = excluded.address, created_at = now()

-- name: forget
delete from auth.unproven_addresses where user_id = $1 and provider = $2
