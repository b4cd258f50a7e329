"""The accounts as an OAuth 2.1 and OpenID Connect server: other applications sign people in with them."""
