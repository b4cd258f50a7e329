"""The pool of accounts: users, sessions, one-time codes, factors and everything else below `/auth/v1`."""
