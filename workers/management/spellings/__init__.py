"""Operations under the names and shapes of other interfaces: the official Management API, postgres-meta, MCP."""
