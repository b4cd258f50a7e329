"""Auth as an OAuth 2.1 and OpenID Connect server: other applications sign users in with its accounts."""
