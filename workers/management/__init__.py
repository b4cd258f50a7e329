"""The pool `management`: what administrators do, as a list of operations that programs, the dashboard and commands share.

    worker.py     answers a request                                    -> spellings, operations
    spellings/    the same under the names of others: `/v1`, `/pg`, MCP
    operations/   the operations, with their arguments and rights
    areas/        what they are made of: tables, rows, SQL, policies, settings, ...; an area does not know who asks
    interface/    what an operation is and how one runs: administrators, rights, limits, audit, sessions and other pools

Each imports only those below it.
"""
