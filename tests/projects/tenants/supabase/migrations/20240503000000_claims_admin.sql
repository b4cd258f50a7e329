CREATE OR REPLACE FUNCTION is_claims_admin() RETURNS "bool" LANGUAGE "plpgsql" AS $$
  BEGIN
    IF session_user = 'authenticator' THEN
      IF extract(epoch from now()) > coalesce((current_setting('request.jwt.claims', true)::jsonb)->>'exp', '0')::numeric THEN
        return false; -- jwt expired
      END IF;
      If current_setting('request.jwt.claims', true)::jsonb->>'role' = 'service_role' THEN
        RETURN true; -- service role users have admin rights
      END IF;
      return coalesce((current_setting('request.jwt.claims', true)::jsonb)->'app_metadata'->'claims_admin', 'false')::bool;
    ELSE
      return true; -- not through the interface: a trigger, or a direct connection
    END IF;
  END;
$$;

CREATE OR REPLACE FUNCTION set_claim(uid uuid, claim text, value jsonb) RETURNS "text" LANGUAGE "plpgsql" SECURITY DEFINER SET search_path = public AS $$
  BEGIN
    IF NOT is_claims_admin() THEN
      RETURN 'error: access denied';
    ELSE
      IF EXISTS (SELECT id FROM auth.users WHERE id = uid) THEN
        update auth.users set raw_app_meta_data = raw_app_meta_data || json_build_object(claim, value)::jsonb where id = uid;
        return 'OK';
      ELSE
        return 'error: user not found';
      END IF;
    END IF;
  END;
$$;
GRANT EXECUTE ON FUNCTION set_claim TO service_role;
REVOKE ALL ON FUNCTION set_claim FROM PUBLIC, anon;
NOTIFY pgrst, 'reload schema';
ALTER ROLE authenticated SET statement_timeout = '15s';
ALTER ROLE authenticator SET pgrst.db_aggregates_enabled = 'true';
NOTIFY pgrst, 'reload config';
