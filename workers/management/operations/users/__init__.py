"""Users of the project: searched by SQL that reads, changed by the pool `auth`, whose rules, hooks and audit log then apply.

auth_pool.py       requests to the pool auth                     read_only.py      SQL as the role that reads
search.py          pages of users                                details.py        one user, and which rows refer to it
changes.py         create, change, ban, delete                   access.py         sessions, factors, identities, acting as a user
messages.py        invitations, emails and codes, links          audit_search.py   the audit log of auth
oauth_clients.py   clients of the OAuth server                   sso_providers.py  identity providers of single sign-on
"""
