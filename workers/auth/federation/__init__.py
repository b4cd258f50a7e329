"""Sign-in with other services (OAuth, SAML, wallets), and sign-in of other services with this one."""
