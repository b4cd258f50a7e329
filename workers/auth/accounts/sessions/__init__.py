"""Sessions, refresh tokens and what an access token says."""
