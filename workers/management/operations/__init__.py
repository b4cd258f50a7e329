"""The operations, listed in `OPERATIONS`. A module here is one area; its `operations()` returns what it adds."""

from workers.management.operation import OperationTable
from workers.management.operations import (
    account,
    administrators,
    advisors,
    audit_log,
    catalog,
    keys,
    mail,
    providers,
    settings,
    tokens,
)

_AREAS = (account, administrators, tokens, audit_log, catalog, settings, mail, providers, keys, advisors)


def operation_table() -> OperationTable:
    """Return all operations by name."""
    table = OperationTable()
    for area in _AREAS:
        for operation in area.operations():
            table.add(operation)
    return table
