"""The context of a request's transaction: session settings, isolation, and the pre-request function. Pure.

REST sets the same settings, so policies and functions read the same values whichever interface a request used.
Source: docs/reference/graphql.md, section 1; docs/reference/rest.md, section 4.
"""

from collections.abc import Container
from functools import lru_cache

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
    search_path = _search_path(api.schemas[0] if api.schemas else "public", *api.extra_search_path)
    settings = request_settings(request, identity, role, search_path)
    if api.app_settings:
        settings += api.app_settings.items()
    before = [Statement(pre_request_call(api.pre_request))] if api.pre_request else ()
    return TransactionContext(settings, role.isolation, before, missing_names)


@lru_cache(maxsize=64)
def _search_path(*schemas: str) -> str:
    return ", ".join(quoted(name) for name in dict.fromkeys(schemas))
