"""The operations, listed in `OPERATIONS`. A module here is one area; its `operations()` returns what it adds."""

from workers.management.operation import OperationTable
from workers.management.operations import account, administrators, audit_log, catalog, factors, tokens
from workers.management.operations.users import (
    access,
    audit_search,
    changes,
    details,
    messages,
    oauth_clients,
    search,
    sso_providers,
)

_USERS = (search, details, changes, access, messages, audit_search, oauth_clients, sso_providers)
_AREAS = (account, administrators, tokens, audit_log, catalog, factors, *_USERS)


def operation_table() -> OperationTable:
    """Return all operations by name."""
    table = OperationTable()
    for area in _AREAS:
        for operation in area.operations():
            table.add(operation)
    return table
