"""A request through the pure steps: from what is sent to a plan against the hand-made catalog."""

from dataclasses import dataclass

from msgspec.structs import replace

from tests.workers.rest.plan.catalogs import CATALOG
from workers.database.schema_cache.similar_names import best_match
from workers.rest.model import Payload, RequestAction, RestOptions, RestPlan
from workers.rest.parse.payload import parse_arguments, parse_rows
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path, parse_request, plan_headers
from workers.rest.plan.plan import make_plan

OPTIONS = RestOptions(
    schemas=("public",),
    max_rows=None,
    tx_end="commit",
    aggregates_enabled=True,
    require_filters=False,
    plan_enabled=True,
    legacy_target_names=True,
    root_spec=None,
    openapi_mode="follow-privileges",
    hoisted=frozenset({"statement_timeout", "default_transaction_isolation"}),
    anonymous_role="anon",
    similar=best_match,
)
_WITH_BODY = frozenset({RequestAction.CREATE, RequestAction.UPDATE, RequestAction.UPSERT})


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A plan with what each request brings to it: the values left out of its shape, and its body."""

    plan: RestPlan
    values: tuple[str, ...]
    payload: Payload | None


def ask(
    method: str, target: str, body: str | None = None, /, **headers: str | bool | int | None
) -> PlannedRequest:
    """Plan a request; keyword arguments are headers (`content_type`), or options where an option has that name.

    Raises: RestError.
    """
    own = {name: headers.pop(name) for name in list(headers) if name in RestOptions.__slots__}
    options = replace(OPTIONS, **own)  # type: ignore[arg-type]  # names and values of the options
    path, _, query = target.partition("?")
    sent = [(name.replace("_", "-"), str(value)) for name, value in headers.items()]
    shape, values = shape_of(query, is_call=is_call_path(path) and method in ("GET", "HEAD"))
    asked = parse_request(method, path, shape, plan_headers(sent), options)
    payload = None
    data = (body or "").encode()
    if asked.action in _WITH_BODY:
        payload = parse_rows(asked.content_type, data, asked.query.columns)
    elif asked.action is RequestAction.CALL and method == "POST":
        payload = parse_arguments(asked.content_type, data, asked.query.columns)
    return PlannedRequest(make_plan(asked, payload, CATALOG, options), tuple(values), payload)


def plan(
    method: str, target: str, body: str | None = None, /, **headers: str | bool | int | None
) -> RestPlan:
    """Return only the plan. Raises: RestError."""
    return ask(method, target, body, **headers).plan
