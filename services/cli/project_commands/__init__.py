"""The commands of `headwater projects`, one module a purpose; `services/cli/projects.py` is their group."""
