"""Tests of the folder `workers/sql`."""
