"""How each cost grows with processes, tables, roles, subscribers: `python -m tests.bench.growth`."""
