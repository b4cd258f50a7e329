-- Deletes expired rows (cleanup.py), a batch at a time; locked rows are skipped until the next sweep.
-- $1 is the size of a batch. All run as supabase_auth_admin.

-- name: refresh_tokens
delete from auth.refresh_tokens where id in (
  select id from auth.refresh_tokens where revoked and updated_at < now() - interval '24 hours'
  limit $1::int for update skip locked
) returning 1

-- name: ended_sessions
delete from auth.sessions where id in (
  select id from auth.sessions where not_after < now() - interval '72 hours' limit $1::int for update skip locked
) returning 1

-- name: old_sessions
-- $2: seconds of the timebox.
delete from auth.sessions where id in (
  select id from auth.sessions
  where created_at < now() - make_interval(secs => $2::float8) - interval '24 hours'
  limit $1::int for update skip locked
) returning 1

-- name: idle_sessions
-- $2: seconds of the inactivity timeout.
delete from auth.sessions where id in (
  select id from auth.sessions
  where coalesce(refreshed_at at time zone 'UTC', created_at) < now() - make_interval(secs => $2::float8) - interval '24 hours'
  limit $1::int for update skip locked
) returning 1

-- name: relay_states
delete from auth.saml_relay_states where id in (
  select id from auth.saml_relay_states where created_at < now() - interval '24 hours' limit $1::int for update skip locked
) returning 1

-- name: flow_states
-- $2: seconds for which a flow waits at least for its link or provider; a code counts from its own time.
delete from auth.flow_state where id in (
  select id from auth.flow_state
  where created_at < now() - interval '24 hours' and case when auth_code is null
    then created_at < now() - make_interval(secs => $2::float8)
    else auth_code_issued_at is null or auth_code_issued_at < now() - interval '24 hours'
  end
  limit $1::int for update skip locked
) returning 1

-- name: one_time_tokens
-- $2: the longest lifetime in seconds.
delete from auth.one_time_tokens where id in (
  select id from auth.one_time_tokens
  where updated_at < now() - interval '24 hours' and updated_at < now() - make_interval(secs => $2::float8)
  limit $1::int for update skip locked
) returning 1

-- name: client_states
delete from auth.oauth_client_states where id in (
  select id from auth.oauth_client_states where created_at < now() - interval '24 hours' limit $1::int for update skip locked
) returning 1

-- name: challenges
-- $2: seconds for which a challenge can be answered, or its failures count.
delete from auth.mfa_challenges where id in (
  select id from auth.mfa_challenges
  where created_at < now() - interval '24 hours' and created_at < now() - make_interval(secs => $2::float8)
  limit $1::int for update skip locked
) returning 1

-- name: unverified_factors
-- $2: seconds for which a factor can be verified.
delete from auth.mfa_factors where id in (
  select id from auth.mfa_factors
  where status = 'unverified' and created_at < now() - interval '24 hours'
    and created_at < now() - make_interval(secs => $2::float8)
  limit $1::int for update skip locked
) returning 1

-- name: webauthn_challenges
delete from auth.webauthn_challenges where id in (
  select id from auth.webauthn_challenges where expires_at < now() limit $1::int for update skip locked
) returning 1

-- name: authorizations
delete from auth.oauth_authorizations where id in (
  select id from auth.oauth_authorizations where expires_at < now() - interval '24 hours' limit $1::int for update skip locked
) returning 1

-- name: web3_nonces
delete from auth.web3_nonces where ctid in (
  select ctid from auth.web3_nonces where expires_at < now() limit $1::int for update skip locked
) returning 1

-- name: saml_assertions
delete from auth.saml_assertions where ctid in (
  select ctid from auth.saml_assertions where expires_at < now() limit $1::int for update skip locked
) returning 1

-- name: rate_limits
-- Rows of the future were written by a clock that was set back since: a window or a wait of theirs would last until it has caught up.
delete from auth.rate_limits where name in (
  select name from auth.rate_limits
  where updated_at < now() - interval '24 hours' or updated_at > now() + interval '1 minute'
  limit $1::int for update skip locked
) returning 1

-- name: audit_entries
-- The oldest rows stand first in the table, so that a batch is found at its beginning, without an index that each entry would write.
delete from auth.audit_log_entries where id in (
  select id from auth.audit_log_entries where created_at < now() - make_interval(secs => $2::float8)
  limit $1::int for update skip locked
) returning 1

-- name: anonymous_users
delete from auth.users where id in (
  select id from auth.users where is_anonymous and created_at < now() - interval '30 days'
  limit $1::int for update skip locked
) returning 1

-- name: some_anonymous_users
-- Users of a batch that begins anywhere, at $2.
select id from auth.users where is_anonymous and created_at < now() - interval '30 days'
order by id < $2, id limit $1::int

-- name: anonymous_user
delete from auth.users where id in (
  select id from auth.users
  where id = $1 and is_anonymous and created_at < now() - interval '30 days' for update skip locked
) returning 1

-- name: browser_departures
-- Redirects to a provider that no browser has followed.
delete from auth.browser_departures where ticket_hash in (
  select ticket_hash from auth.browser_departures where created_at < now() - interval '24 hours'
  limit $1::int for update skip locked
) returning 1

-- name: known_networks
-- Networks whose last sign-in is too long ago (networks.py).
delete from auth.known_networks where network_hash in (
  select network_hash from auth.known_networks where seen_at < now() - interval '60 days'
  limit $1::int for update skip locked
) returning 1
