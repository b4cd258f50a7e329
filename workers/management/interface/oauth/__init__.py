"""OAuth 2.1 for agents at `/mcp`: clients register, an administrator consents in the dashboard, tokens are bound to `/mcp`.

401 of /mcp --> metadata.py (RFC 9728, RFC 8414) --> clients.py: registration (RFC 7591) --> GET /oauth/authorize: the request is
checked (authorization_request.py) and shown by the dashboard --> operation connections.allow: a code --> POST /oauth/token --> grants.py
"""
