"""The operations, listed by `operation_table`. A module here is one area; its `operations()` returns what it adds."""

from workers.management.interface.operation import OperationTable
from workers.management.operations import (
    account,
    activity,
    administrators,
    advisors,
    audit_log,
    backups,
    branches,
    catalog,
    certificates,
    connections,
    continuous_backup,
    durable_jobs,
    event_deliveries,
    event_webhooks,
    factors,
    function_calls,
    function_changes,
    functions,
    history,
    jobs,
    keys,
    logs,
    mail,
    migrations,
    pending_migrations,
    platform,
    policies,
    project,
    project_settings,
    project_types,
    providers,
    queue_access,
    queue_consumers,
    queues,
    realtime,
    realtime_state,
    row_files,
    rows,
    schema,
    settings,
    sizes,
    sql,
    sql_check,
    sql_requests,
    sql_snippets,
    statements,
    storage_buckets,
    storage_links,
    storage_objects,
    storage_webhook,
    streams,
    sync_shapes,
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
    # Administrators: their accounts, factors, tokens and what they did
    account,
    administrators,
    tokens,
    audit_log,
    factors,
    # The database: catalog, changes of the schema, policies, rows, SQL
    catalog,
    schema,
    migrations,
    pending_migrations,
    policies,
    rows,
    row_files,
    history,
    sql,
    sql_check,
    sql_snippets,
    # Users of the project, and who signs them in
    search,
    details,
    changes,
    access,
    messages,
    audit_search,
    oauth_clients,
    sso_providers,
    # Settings, email, providers of sign-in, keys
    settings,
    mail,
    providers,
    keys,
    # Storage
    storage_buckets,
    storage_objects,
    storage_links,
    storage_webhook,
    streams,
    # Functions
    functions,
    function_changes,
    function_calls,
    # Jobs, requests of SQL, queues, webhooks of tables
    jobs,
    sql_requests,
    queues,
    queue_consumers,
    queue_access,
    durable_jobs,
    webhooks,
    event_webhooks,
    event_deliveries,
    # Realtime
    realtime,
    realtime_state,
    sync_shapes,
    # The running platform: health, backups, log lines
    platform,
    backups,
    continuous_backup,
    branches,
    certificates,
    connections,
    logs,
    # What the official command line asks for
    project,
    project_types,
    project_settings,
    # Advisors and statistics of the database
    advisors,
    statements,
    activity,
    sizes,
)


def operation_table() -> OperationTable:
    """Return all operations by name."""
    table = OperationTable()
    for area in _AREAS:
        for operation in area.operations():
            table.add(operation)
    return table
