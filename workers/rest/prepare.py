"""The first three steps of a request, each through the cache of the state: parse, plan, and the query that a plan becomes.

    parse   method, path, shape of the query string, headers -> ApiRequest
    plan    ApiRequest, payload, catalog                      -> ReadPlan | WritePlan | CallPlan
    query   plan                                              -> RestStatement (SQL with parameters)

Requests of one shape share an entry: the values of their filters fill the parameters of the cached statement.
"""

from schemas.http import Headers, derived
from workers.rest.model import ApiRequest, Payload
from workers.rest.parse.payload import beside_others, is_read_slowly, reads_rows
from workers.rest.parse.request import PlanHeaders, parse_request, plan_headers
from workers.rest.plan.plan import make_plan
from workers.rest.state import CachedPlan, RequestKey, RestState

_WITH_BODY = frozenset({"POST", "PATCH", "PUT"})


def parse(
    state: RestState, method: str, path: str, shape: str, headers: Headers
) -> tuple[RequestKey, ApiRequest]:
    """Parse a request, and return it with its key in the cache. Raises: the 1xx errors."""
    return parse_with(state, method, path, shape, derived(headers, plan_headers))


def parse_with(
    state: RestState, method: str, path: str, shape: str, headers: PlanHeaders
) -> tuple[RequestKey, ApiRequest]:
    """Parse a request whose deciding headers have been picked. Raises: the 1xx errors."""
    key = (method, path, shape, headers)
    request = state.requests.get(key)
    if request is None:
        request = parse_request(method, path, shape, headers, state.options)
        state.requests.store(key, request)
    return key, request


def reads_body(request: ApiRequest) -> bool:
    """Return whether the body of a request matters."""
    return request.method in _WITH_BODY


async def prepare_plan(
    state: RestState, key: RequestKey, request: ApiRequest, payload: Payload | None
) -> CachedPlan:
    """Plan a request as `plan_and_query` does, one whose long body becomes rows of several relations beside other requests."""
    if payload is not None and reads_rows(request) and is_read_slowly(request, len(payload.data)):
        return await beside_others(_plan_alone, state, request, payload)
    return plan_and_query(state, key, request, payload)


def _plan_alone(state: RestState, request: ApiRequest, payload: Payload) -> CachedPlan:
    """Plan a nested insert with its statement; nothing of the state is written, as this runs in a thread."""
    planned = CachedPlan(make_plan(request, payload, state.catalog, state.options))
    _ = planned.statement
    return planned


def plan_and_query(
    state: RestState, key: RequestKey, request: ApiRequest, payload: Payload | None
) -> CachedPlan:
    """Plan a request and render its statement. Raises: the 2xx errors."""
    plan_key: tuple[object, ...] = key
    if payload is not None:
        form = payload.form if payload.kind == "form" else ()
        plan_key = (key, payload.kind, payload.keys, payload.is_array, payload.is_empty_array, form)
    cached = state.plans.get(plan_key)
    if cached is not None:
        return cached
    plan = make_plan(request, payload, state.catalog, state.options)
    planned = CachedPlan(plan)
    # A nested insert and a page by cursor hold values of this request, so they must not be cached.
    if not request.query.nested and request.query.cursor is None:
        state.plans.store(plan_key, planned)
    return planned
