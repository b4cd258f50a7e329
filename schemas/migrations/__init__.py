"""Numbered series of SQL, one a system schema; `workers/database/migrations/migrate.py` applies them in order, forward only."""
