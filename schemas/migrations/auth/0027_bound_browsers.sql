-- What belongs to one client: a sign-in under way to the browser that began it, a budget of tries to networks known before.
-- as: supabase_auth_admin

create table if not exists auth.browser_departures (
  ticket_hash text primary key
    constraint browser_departures_ticket_hash_length check (pg_catalog.char_length(ticket_hash) = 64),
  flow_id uuid not null,
  kind text not null constraint browser_departures_kind_check check (kind in ('oauth', 'saml')),
  destination text not null,
  created_at timestamptz not null default pg_catalog.now()
);
comment on table auth.browser_departures is
  'Addresses at providers that wait for the browser that will go there; each is handed out once';
comment on column auth.browser_departures.ticket_hash is 'SHA-256 of the ticket in the address that the client was given';
comment on column auth.browser_departures.destination is 'Sealed: whoever reads it knows the state';
create index if not exists browser_departures_created_at_idx on auth.browser_departures (created_at);

alter table auth.flow_state add column if not exists browser_hash text;
alter table auth.saml_relay_states add column if not exists browser_hash text;
comment on column auth.flow_state.browser_hash is 'SHA-256 of the cookie of the browser that went to the provider; empty: none has yet';
comment on column auth.saml_relay_states.browser_hash is 'SHA-256 of the cookie of the browser that went to the provider; empty: none has yet';

create table if not exists auth.known_networks (
  network_hash text primary key
    constraint known_networks_network_hash_length check (pg_catalog.char_length(network_hash) = 64),
  user_id uuid not null references auth.users on delete cascade,
  seen_at timestamptz not null default pg_catalog.now()
);
comment on table auth.known_networks is
  'From where users have signed in lately: guesses of others do not use up the tries of these';
comment on column auth.known_networks.network_hash is 'Keyed hash of what was typed as address, and of the network';
create index if not exists known_networks_user_id_seen_at_idx on auth.known_networks (user_id, seen_at);
create index if not exists known_networks_seen_at_idx on auth.known_networks (seen_at);

alter table auth.one_time_tokens
  add column if not exists failed_at_known int not null default 0
  constraint one_time_tokens_failed_at_known_check check (failed_at_known >= 0);
comment on column auth.one_time_tokens.failed_at_known is 'Wrong codes typed at networks from which the user had signed in before';

grant all on auth.browser_departures, auth.known_networks to postgres, dashboard_user;
grant select on auth.browser_departures, auth.known_networks to postgres with grant option;
alter table auth.browser_departures enable row level security;
alter table auth.known_networks enable row level security;
