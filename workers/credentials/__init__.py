"""Credentials as values, for the pools `auth` and `management`: password hashes, TOTP, recovery codes, WebAuthn, QR codes. Pure.

No module here knows settings, rows or requests: each pool stores credentials in its own tables and decides who may use them.
"""
