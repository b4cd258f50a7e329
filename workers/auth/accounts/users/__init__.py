"""Accounts: users, their addresses and identities."""
