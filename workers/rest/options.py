"""OPTIONS: which methods a resource has. Pure. Source: reference page "rest", section 18."""

from schemas.http import Headers, Response
from workers.database.catalog import Catalog, Relation
from workers.rest.errors import NoFunction
from workers.rest.model import ApiRequest, Options
from workers.rest.plan.plan import find_relation

_ROOT = "OPTIONS,GET,HEAD"


def allowed(asked: ApiRequest, is_call: bool, catalog: Catalog, options: Options) -> Response:
    """Answer OPTIONS for the root, a relation or a function. Raises: NoRelation, NoFunction."""
    if is_call:
        methods = _of_function(asked, catalog)
    elif not asked.target:
        methods = _ROOT
    else:
        methods = _of_relation(find_relation(asked, catalog, options))
    headers: Headers = [("allow", methods), ("vary", "Accept, Prefer, Range")]
    return Response(200, headers)


def _of_relation(relation: Relation) -> str:
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


def _of_function(asked: ApiRequest, catalog: Catalog) -> str:
    overloads = catalog.functions.get((asked.schema, asked.target))
    if not overloads:
        full = f"{asked.schema}.{asked.target}"
        raise NoFunction(f"Could not find the function {full} in the schema cache")
    return "OPTIONS,POST" if all(each.volatility == "v" for each in overloads) else "OPTIONS,GET,HEAD,POST"
