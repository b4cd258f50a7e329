"""The context of a request's transaction: session settings, isolation, and the pre-request function. Pure.

REST sets the same settings, so policies and functions read the same values whichever interface a request used.
Source: docs/reference/graphql.md, section 1; docs/reference/rest.md, section 4.
"""

from collections.abc import Container

from schemas.http import Request
from schemas.settings.tree import Api
from workers.database.schema_cache.catalog import Role
from workers.database.transactions.model import Statement
from workers.graphql.execute import TransactionContext
from workers.request_context.identity import RequestIdentity
from workers.request_context.settings import pre_request_call, request_settings
from workers.sql.compose import quoted


def transaction_context(
    request: Request, identity: RequestIdentity, role: Role, api: Api, missing_names: Container[str] = ()
) -> TransactionContext:
    """Return the settings, isolation and first statements of a request's transaction."""
    schema = api.schemas[0] if api.schemas else "public"
    path = dict.fromkeys((schema, *api.extra_search_path))
    search_path = ", ".join(quoted(name) for name in path)
    settings = [*request_settings(request, identity, role, search_path), *api.app_settings.items()]
    before = [Statement(pre_request_call(api.pre_request))] if api.pre_request else []
    return TransactionContext(settings, role.isolation, before, missing_names)
