"""The auth pool: users, sessions, one-time codes, factors and everything else below `/auth/v1`.

Packages from top to bottom; each imports only those below it (import-linter holds this):

    http          routes, endpoints, grants, the responses
    flows         steps that several endpoints share: sign-up, sign-in with a provider, linking, confirmation, address changes
    federation    identity providers, SAML, wallets, the OAuth server        factors    second factors and passkeys
    accounts      users, identities, passwords, one-time codes, sessions, the audit log
    delivery      emails, text messages, templates, hooks
    model         rows, requests, errors, claims, redirect rules, rate limits: what every layer needs

`worker.py` dispatches a request, `build.py` builds the context from the settings, `pool.py` starts the process.
"""
