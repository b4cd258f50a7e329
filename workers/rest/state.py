"""What a REST worker holds of one configuration and one catalog: options, identities, and the plans it has made.

Plans are kept by the shape of their URL (architecture, decision 11). A new catalog or configuration makes a new state,
so nothing kept can be stale.
"""

from dataclasses import dataclass
from typing import TypeVar

from schemas.settings.tree import Api
from workers.database.catalog import Catalog, Role
from workers.database.similar import best_match
from workers.request_context.identity import Identities
from workers.rest.errors import refused_token
from workers.rest.execute import Surroundings
from workers.rest.model import Action, ApiRequest, Options, Payload, Plan, Prepared
from workers.rest.parse.request import Wanted, parse_request
from workers.rest.plan.plan import make_plan
from workers.rest.query.query import query_for
from workers.rest.query.rows import rows_query_for

_KEPT = 4096
_LONGEST_KEPT = 4096
_HAS_BODY = frozenset({Action.CREATE, Action.UPDATE, Action.UPSERT})

_K = TypeVar("_K")
_V = TypeVar("_V")
Key = tuple[str, str, str, Wanted]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with its statement."""

    plan: Plan
    prepared: Prepared
    by_rows: Prepared | None = None
    """The statement that gives the body row by row, where there is one: for answers that may be long."""


class State:
    """One configuration, one catalog."""

    def __init__(self, api: Api, catalog: Catalog) -> None:
        self.api = api
        self.catalog = catalog
        self.options = options_of(api)
        self.identities = Identities(api, refused_token)
        self.surroundings = Surroundings(
            tuple(api.extra_search_path), tuple(api.app_settings.items()), api.pre_request or None
        )
        self._requests: dict[Key, ApiRequest] = {}
        self._plans: dict[tuple[object, ...], Planned] = {}

    def request(self, method: str, path: str, shape: str, wanted: Wanted) -> tuple[Key, ApiRequest]:
        """Give the parsed request of a shape. Raises: the 1xx refusals."""
        key = (method, path, shape, wanted)
        asked = self._requests.get(key)
        if asked is None:
            asked = parse_request(method, path, shape, wanted, self.options)
            _keep(self._requests, key, asked, len(shape) + len(path))
        return key, asked

    def planned(self, key: Key, asked: ApiRequest, payload: Payload | None) -> Planned:
        """Give the plan of a request and payload. Raises: the refusals of the plan step."""
        whole: tuple[object, ...] = key
        if payload is not None:
            form = payload.form if payload.kind == "form" else ()
            whole = (key, payload.kind, payload.keys, payload.is_array, payload.is_empty_array, form)
        found = self._plans.get(whole)
        if found is None:
            plan = make_plan(asked, payload, self.catalog, self.options)
            found = Planned(plan, query_for(plan), rows_query_for(plan))
            if asked.query.nested or asked.query.cursor is not None:
                return found  # it holds values of this request
            _keep(
                self._plans, whole, found, len(key[2]) + (len(str(whole)) if payload and payload.form else 0)
            )
        return found

    def role(self, name: str) -> Role:
        """Give a role's settings; one that the login role may not become is left for the database to refuse."""
        return self.catalog.roles.get(name) or Role(name)

    def reads_body(self, asked: ApiRequest) -> bool:
        """Tell whether the body of a request matters."""
        return asked.action in _HAS_BODY or (asked.action is Action.CALL and asked.method == "POST")


def _keep(kept: dict[_K, _V], key: _K, value: _V, size: int) -> None:
    """Keep a value, dropping the oldest when there are too many; long keys are not worth their memory."""
    if size > _LONGEST_KEPT:
        return
    if len(kept) >= _KEPT:
        del kept[next(iter(kept))]
    kept[key] = value


def options_of(api: Api) -> Options:
    """Give what the steps need of the settings."""
    return Options(
        schemas=tuple(api.schemas),
        max_rows=api.max_rows,
        tx_end=api.tx_end,
        aggregates_enabled=api.aggregates_enabled,
        plan_enabled=api.plan_enabled,
        legacy_target_names=api.legacy_target_names,
        root_spec=api.root_spec,
        openapi_mode=api.openapi_mode,
        hoisted=frozenset(api.hoisted_tx_settings),
        anonymous_role=api.anon_role,
        similar=best_match,
    )
