"""Administrators: who asks (`authenticate.py`), signing in (`sign_in.py`), what is stored (`store.py`, `store.sql`)."""
