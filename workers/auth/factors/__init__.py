"""Second factors and passkeys: TOTP, phone, WebAuthn, recovery codes."""
