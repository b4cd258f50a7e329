"""Hooks: the project's own functions and services that are asked while accounts are used."""
