-- Networks from which users have signed in (networks.py). All run as supabase_auth_admin.

-- name: is_known
select 1 from auth.known_networks where network_hash = $1 and seen_at > now() - $2::int * interval '1 second'

-- name: remember
-- $4: the maximum per user; the oldest are deleted. A network that was stored within the last hour is not written again.
with noted as (
  insert into auth.known_networks (network_hash, user_id, seen_at) values ($1, $2, now())
  on conflict (network_hash) do update set user_id = excluded.user_id, seen_at = excluded.seen_at
  where known_networks.user_id <> excluded.user_id or known_networks.seen_at < now() - interval '1 hour'
)
delete from auth.known_networks where network_hash in (
  select old.network_hash from (
    select network_hash, seen_at, row_number() over (order by seen_at desc) as place
    from auth.known_networks where user_id = $2 and network_hash <> $1
  ) old
  where old.place >= $4::int or old.seen_at <= now() - $3::int * interval '1 second'
)
