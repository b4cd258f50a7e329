"""Which methods a resource has: the answer to OPTIONS, and `Allow` of 405. Pure. Source: docs/reference/rest.md, section 18."""

import msgspec

from schemas.http import Headers, Response, header
from workers.database.schema_cache.catalog import Catalog, CatalogRelation
from workers.rest.errors.plan import DatabaseFunctionNotFound
from workers.rest.model import ApiRequest, RestOptions
from workers.rest.plan.plan import find_relation

_ROOT = "OPTIONS,GET,HEAD"
_FUNCTION = "OPTIONS,GET,HEAD,POST"
_RELATION = "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"


def allowed_methods(request: ApiRequest, is_call: bool, catalog: Catalog, options: RestOptions) -> Response:
    """Answer OPTIONS for the root, a relation or a function. Raises: RelationNotFound, DatabaseFunctionNotFound."""
    if is_call:
        methods = _of_function(request, catalog)
    elif not request.target:
        methods = _ROOT
    else:
        methods = _of_relation(find_relation(request, catalog, options))
    headers: Headers = [("allow", methods), ("vary", "Accept, Prefer, Range")]
    return Response(200, headers)


def with_allow(response: Response, method: str, path: str) -> Response:
    """Return a response, with `Allow` if it is 405 and has none (RFC 9110, 15.5.6). The catalog may not have been read."""
    if response.status != 405 or header(response.headers, "allow") is not None:
        return response
    if not path.strip("/"):
        methods = f"{_ROOT},POST"
    elif not path.startswith("/rpc/"):
        methods = _RELATION
    else:  # a function that writes cannot be read: SQLSTATE 25006
        methods = "OPTIONS,POST" if method in ("GET", "HEAD") else _FUNCTION
    return msgspec.structs.replace(response, headers=[*response.headers, ("allow", methods)])


def _of_relation(relation: CatalogRelation) -> str:
    methods = [_ROOT]
    if relation.insertable:
        methods.append("POST")
    if relation.insertable and relation.updatable and relation.primary_key:
        methods.append("PUT")
    if relation.updatable:
        methods.append("PATCH")
    if relation.deletable:
        methods.append("DELETE")
    return ",".join(methods)


def _of_function(request: ApiRequest, catalog: Catalog) -> str:
    overloads = catalog.functions.get((request.schema, request.target))
    if not overloads:
        full = f"{request.schema}.{request.target}"
        raise DatabaseFunctionNotFound(f"Could not find the function {full} in the schema cache")
    return "OPTIONS,POST" if all(overload.volatility == "v" for overload in overloads) else _FUNCTION
