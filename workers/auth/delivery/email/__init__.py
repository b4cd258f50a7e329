"""Emails to users: their content, quotas and checks, and the way to a mail server."""
