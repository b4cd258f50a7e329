"""Env files of a project: read as `schemas/settings/dotenv.py` says."""

from schemas.settings.dotenv import parse_dotenv as parse_dotenv
