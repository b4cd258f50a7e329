"""Migrations made by administrators: applied, recorded and saved as files (`apply.py`), and the history (`history.py`)."""
