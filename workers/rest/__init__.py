"""The REST pool: parse, plan, query, execute, respond."""
