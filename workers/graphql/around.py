"""The transaction of a request: what it is told of it, and what is called in it first. Pure.

The same as in the REST area, so that policies and functions find what they look for whichever way a request came.
Source: reference page "graphql", section 1; reference page "rest", section 4.
"""

from collections.abc import Container

from schemas.http import Request
from schemas.settings.tree import Api
from workers.database.schema_cache.catalog import Role
from workers.database.transactions.model import Statement
from workers.graphql.execute import Around
from workers.request_context.identity import RequestIdentity
from workers.request_context.settings import pre_request_call, request_settings
from workers.sql.compose import quoted


def around(
    request: Request, identity: RequestIdentity, role: Role, api: Api, known_missing: Container[str] = ()
) -> Around:
    """Give the transaction of a request."""
    schema = api.schemas[0] if api.schemas else "public"
    path = dict.fromkeys((schema, *api.extra_search_path))
    search_path = ", ".join(quoted(name) for name in path)
    settings = [*request_settings(request, identity, role, search_path), *api.app_settings.items()]
    before = [Statement(pre_request_call(api.pre_request))] if api.pre_request else []
    return Around(settings, role.isolation, before, known_missing)
