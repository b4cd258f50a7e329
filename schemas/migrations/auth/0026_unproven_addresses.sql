-- Addresses that count as confirmed although nobody has proven them: accounts that were confirmed at once.
-- as: supabase_auth_admin

create table if not exists auth.unproven_addresses (
  user_id uuid not null references auth.users on delete cascade,
  provider text not null
    constraint unproven_addresses_provider_check check (provider in ('email', 'phone')),
  address text not null constraint unproven_addresses_address_length check (pg_catalog.char_length(address) between 1 and 512),
  created_at timestamptz not null default pg_catalog.now(),
  primary key (user_id, provider)
);

comment on table auth.unproven_addresses is
  'Addresses that were confirmed at once, until a code, a link or a provider proves them; then earlier ways into the account go';
comment on column auth.unproven_addresses.address is 'As it was then: a row for another address than the account has means nothing';

grant all on auth.unproven_addresses to postgres, dashboard_user;
grant select on auth.unproven_addresses to postgres with grant option;
alter table auth.unproven_addresses enable row level security;

-- Accounts of before: without a trace of a code, of an invitation or of a provider that verified the address, and with
-- something by which somebody else could wait in them (a password, an identity that verified nothing).
insert into auth.unproven_addresses (user_id, provider, address)
select u.id, 'email', pg_catalog.lower(u.email)
from auth.users u
where u.email_confirmed_at is not null and u.email <> '' and u.deleted_at is null and not u.is_sso_user
  and (u.confirmation_sent_at is null or u.email_confirmed_at < u.confirmation_sent_at)
  and (u.email_change_sent_at is null or u.email_confirmed_at < u.email_change_sent_at)
  and u.invited_at is null
  and (
    coalesce(u.encrypted_password, '') <> ''
    or exists (select from auth.identities i where i.user_id = u.id and i.provider not in ('email', 'phone'))
  )
  and not exists (
    select from auth.identities i
    where i.user_id = u.id and i.provider not in ('email', 'phone') and i.email = pg_catalog.lower(u.email)
      and i.identity_data ->> 'email_verified' = 'true'
  )
  and not exists (
    select from auth.sessions s join auth.mfa_amr_claims a on a.session_id = s.id
    where s.user_id = u.id and a.authentication_method in ('otp', 'magiclink', 'recovery', 'invite', 'email/signup')
  )
on conflict do nothing;

insert into auth.unproven_addresses (user_id, provider, address)
select u.id, 'phone', u.phone
from auth.users u
where u.phone_confirmed_at is not null and u.phone <> '' and u.deleted_at is null
  and (u.confirmation_sent_at is null or u.phone_confirmed_at < u.confirmation_sent_at)
  and (u.phone_change_sent_at is null or u.phone_confirmed_at < u.phone_change_sent_at)
  and coalesce(u.encrypted_password, '') <> ''
  and not exists (
    select from auth.sessions s join auth.mfa_amr_claims a on a.session_id = s.id
    where s.user_id = u.id and a.authentication_method in ('otp', 'sms')
  )
on conflict do nothing;
