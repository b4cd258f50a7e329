"""Users and what belongs to them: identities, passwords, one-time codes, sessions, flows, the audit log."""
