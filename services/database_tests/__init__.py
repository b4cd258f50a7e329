"""Tests of a project's database in pgTAP: the files, what they print, and what the user gets (`headwater test db`)."""
