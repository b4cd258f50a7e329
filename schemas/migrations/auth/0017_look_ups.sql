-- An index for each question of the service that has none yet: look-ups, pages, cascades, and what is swept by age.
-- as: supabase_auth_admin

create index if not exists users_email_aud_idx on auth.users (pg_catalog.lower(email), aud);
create index if not exists users_created_at_id_idx on auth.users (created_at, id);
create index if not exists users_anonymous_created_at_idx on auth.users (created_at) where is_anonymous;
create index if not exists audit_log_entries_created_at_idx on auth.audit_log_entries (created_at desc, id);

create index if not exists mfa_challenges_factor_id_idx on auth.mfa_challenges (factor_id);
create index if not exists mfa_challenge_created_at_idx on auth.mfa_challenges (created_at desc);
create index if not exists mfa_factors_unverified_created_at_idx on auth.mfa_factors (created_at)
  where status = 'unverified';
create index if not exists mfa_recovery_codes_set_id_idx on auth.mfa_recovery_codes (mfa_recovery_code_set_id);

create index if not exists oauth_client_states_created_at_idx on auth.oauth_client_states (created_at);
create index if not exists oauth_authorizations_client_id_idx on auth.oauth_authorizations (client_id);
create index if not exists oauth_authorizations_user_id_idx on auth.oauth_authorizations (user_id);
create index if not exists oauth_authorizations_expires_at_idx on auth.oauth_authorizations (expires_at);
create index if not exists oauth_consents_client_id_idx on auth.oauth_consents (client_id);

create index if not exists sso_domains_sso_provider_id_idx on auth.sso_domains (sso_provider_id);
create index if not exists saml_providers_sso_provider_id_idx on auth.saml_providers (sso_provider_id);
create index if not exists saml_relay_states_sso_provider_id_idx on auth.saml_relay_states (sso_provider_id);
create index if not exists saml_relay_states_flow_state_id_idx on auth.saml_relay_states (flow_state_id);
create index if not exists saml_relay_states_created_at_idx on auth.saml_relay_states (created_at desc);

create index if not exists webauthn_credentials_user_id_idx on auth.webauthn_credentials (user_id);
create index if not exists webauthn_challenges_user_id_idx on auth.webauthn_challenges (user_id);
create index if not exists webauthn_challenges_expires_at_idx on auth.webauthn_challenges (expires_at);
