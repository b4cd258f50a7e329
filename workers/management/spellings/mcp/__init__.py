"""`/mcp`: the operations as tools of the Model Context Protocol, for agents.

POST --> endpoint.py: method, origin, token, version (versions.py), message (messages.py)
     --> tools/: one module an area; a tool calls operations by their names --> results.py: bounded, marked as data

A request needs nothing of an earlier one: no session is stored, so each may go to another process. A token without the right to
write gets tools that read, and its SQL runs as the role that only reads; the address can narrow that further (`access.py`).
Sources: Model Context Protocol, revisions 2025-11-25 (with a handshake) and 2026-07-28 (without), basic/transports, server/tools.
"""
