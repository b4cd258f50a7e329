-- Identities of users (identities.py). All run as supabase_auth_admin.

-- name: alone
-- Advisory locks: concurrent sign-ins with the same identity or address decide one after another.
select pg_advisory_xact_lock(hashtextextended(wanted.name, 0))
from (select value as name from jsonb_array_elements_text($1::jsonb) order by value) wanted

-- name: by_subject
select row_to_json(identities) from auth.identities where provider = $1 and provider_id = $2

-- name: holders
-- Users who have one of some addresses: as the account's own, or by an identity. An address that was confirmed without a proof
-- proves nothing. Users of single sign-on do not count as owners of an address here.
select row_to_json(found) from (
  select users.id as user_id, lower(users.email) as address, '' as provider,
    users.email_confirmed_at is not null and not email.is_unproven as is_proven,
    (users.email_confirmed_at is not null and not email.is_unproven)
      or (users.phone_confirmed_at is not null and not phone.is_unproven) as is_confirmed
  from auth.users
  cross join lateral (
    select exists (
      select from auth.unproven_addresses
      where user_id = users.id and provider = 'email' and address = lower(users.email)
    ) as is_unproven
  ) email
  cross join lateral (
    select exists (
      select from auth.unproven_addresses where user_id = users.id and provider = 'phone' and address = users.phone
    ) as is_unproven
  ) phone
  where lower(users.email) = any (array(select jsonb_array_elements_text($1::jsonb))) and users.aud = $2
    and users.deleted_at is null and not users.is_sso_user
  union all
  select identities.user_id, identities.email, identities.provider,
    coalesce(identities.identity_data ->> 'email_verified' = 'true', false), users.confirmed_at is not null
  from auth.identities join auth.users on users.id = identities.user_id
  where identities.email = any (array(select jsonb_array_elements_text($1::jsonb))) and users.aud = $2
    and users.deleted_at is null and identities.provider not in ('email', 'phone')
) found

-- name: insert
insert into auth.identities (provider, provider_id, user_id, identity_data, last_sign_in_at, created_at, updated_at)
values ($1, $2, $3, $4, now(), now(), now())

-- name: refresh
update auth.identities set identity_data = $2, last_sign_in_at = now(), updated_at = now() where id = $1

-- name: delete
delete from auth.identities where id = $1 and user_id = $2 returning 1

-- name: delete_others
delete from auth.identities where user_id = $1 and not (provider = $2 and provider_id = $3)
