"""The operations, listed in `OPERATIONS`. A module here is one area; its `operations()` returns what it adds."""

from workers.management.operation import OperationTable
from workers.management.operations import (
    account,
    administrators,
    audit_log,
    backups,
    catalog,
    factors,
    function_calls,
    function_changes,
    functions,
    jobs,
    keys,
    mail,
    migrations,
    platform,
    policies,
    project,
    project_database,
    project_functions,
    project_settings,
    providers,
    queues,
    realtime,
    realtime_state,
    schema,
    settings,
    sql_requests,
    storage_buckets,
    storage_links,
    storage_objects,
    storage_webhook,
    tokens,
    webhooks,
)
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

_AREAS = (
    account,
    administrators,
    tokens,
    audit_log,
    catalog,
    settings,
    mail,
    providers,
    keys,
    storage_buckets,
    storage_objects,
    storage_links,
    functions,
    function_changes,
    function_calls,
    jobs,
    sql_requests,
    queues,
    webhooks,
    storage_webhook,
    realtime,
    realtime_state,
    platform,
    backups,
    schema,
    migrations,
    policies,
    factors,
    search,
    details,
    changes,
    access,
    messages,
    audit_search,
    oauth_clients,
    sso_providers,
    project,
    project_database,
    project_functions,
    project_settings,
)


def operation_table() -> OperationTable:
    """Return all operations by name."""
    table = OperationTable()
    for area in _AREAS:
        for operation in area.operations():
            table.add(operation)
    return table
