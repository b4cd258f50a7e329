"""Env files of a project: read as `schemas/dotenv.py` says."""

from schemas.dotenv import parse_dotenv as parse_dotenv
