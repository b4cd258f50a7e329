-- What may stand in the columns that hold secrets: never the secret itself.
-- as: supabase_auth_admin

do $$
begin
  if not exists (
    select from pg_catalog.pg_constraint
    where conrelid = 'auth.one_time_tokens'::pg_catalog.regclass and conname = 'one_time_tokens_token_hash_no_code'
  ) then
    alter table auth.one_time_tokens
      add constraint one_time_tokens_token_hash_no_code check (token_hash !~ '^[0-9]{1,10}$');
  end if;
end $$;

do $$
declare
  told record;
begin
  for told in
    select * from (values
      ('users.encrypted_password', 'Hash of the password'),
      ('users.confirmation_token', 'Hash, as in one_time_tokens'),
      ('users.recovery_token', 'Hash, as in one_time_tokens'),
      ('users.email_change_token_current', 'Hash, as in one_time_tokens'),
      ('users.email_change_token_new', 'Hash, as in one_time_tokens'),
      ('users.phone_change_token', 'Hash, as in one_time_tokens'),
      ('users.reauthentication_token', 'Hash, as in one_time_tokens'),
      ('one_time_tokens.token_hash', 'Keyed hash of the address and the code'),
      ('refresh_tokens.token', 'SHA-256 of the token, in hexadecimal'),
      ('refresh_tokens.parent', 'SHA-256 of the token that this one replaced, in hexadecimal'),
      ('sessions.refresh_token_hmac_key', 'Encrypted'),
      ('mfa_factors.secret', 'Encrypted'),
      ('mfa_challenges.otp_code', 'Keyed hash of the code'),
      ('mfa_recovery_codes.code_hash', 'Keyed hash of the code'),
      ('flow_state.auth_code', 'Hash of the code'),
      ('flow_state.invite_token', 'Hash, as in one_time_tokens'),
      ('flow_state.provider_access_token', 'Encrypted'),
      ('flow_state.provider_refresh_token', 'Encrypted'),
      ('oauth_client_states.code_verifier', 'Encrypted'),
      ('oauth_authorizations.authorization_code', 'Hash of the code'),
      ('oauth_clients.client_secret_hash', 'SHA-256 of the secret'),
      ('custom_oauth_providers.client_secret', 'Encrypted')
    ) as columns (name, content)
  loop
    execute pg_catalog.format('comment on column auth.%s is %L', told.name, told.content);
  end loop;
end $$;
