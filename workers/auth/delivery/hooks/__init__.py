"""Hooks: functions and HTTP services of the project that auth calls at seven points."""
