"""The dashboard: built pages (`static/`, made by `scripts/dashboard` from `web/`) and how the gateway serves them (`files.py`)."""
