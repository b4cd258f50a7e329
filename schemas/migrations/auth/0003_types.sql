-- The enumerations of accounts; one that is there already gets the labels that it lacks.
-- as: supabase_auth_admin

do $$
declare
  wanted record;
  label text;
begin
  for wanted in
    select * from (values
      ('factor_type', array['totp', 'webauthn', 'phone', 'recovery_code']),
      ('factor_status', array['unverified', 'verified']),
      ('aal_level', array['aal1', 'aal2', 'aal3']),
      ('code_challenge_method', array['s256', 'plain']),
      ('one_time_token_type', array['confirmation_token', 'reauthentication_token', 'recovery_token',
        'email_change_token_new', 'email_change_token_current', 'phone_change_token']),
      ('oauth_registration_type', array['dynamic', 'manual']),
      ('oauth_authorization_status', array['pending', 'approved', 'denied', 'expired']),
      ('oauth_response_type', array['code']),
      ('oauth_client_type', array['public', 'confidential'])
    ) as types (name, labels)
  loop
    if pg_catalog.to_regtype('auth.' || wanted.name) is null then
      execute pg_catalog.format('create type auth.%I as enum ()', wanted.name);
    end if;
    foreach label in array wanted.labels loop
      execute pg_catalog.format('alter type auth.%I add value if not exists %L', wanted.name, label);
    end loop;
  end loop;
end $$;
