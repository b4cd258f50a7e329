-- The credential of a factor (webauthn_factor.py), run as supabase_auth_admin with the user's row locked.

-- name: keep
-- The credential after its use, its authenticator model, and the last challenge.
update auth.mfa_factors set
  web_authn_credential = $2, web_authn_aaguid = $3, last_webauthn_challenge_data = $4, updated_at = now()
where id = $1
