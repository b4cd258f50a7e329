"""The schema metadata interface `/pg`: the catalog of the database for programs, as postgres-meta 0.99 answers it.

A request passes through `interface.py`: `request.py` (path, query, body) -> `routes.py` (which endpoint) -> an endpoint of
`endpoints/`, which reads the catalog (`reads.py`, `reads.sql`) or builds statements (`changes/`) and runs them as role
`postgres`. Fields, errors and differences: docs/reference/schema-metadata.md.
"""
