"""What a REST worker caches for one configuration and one catalog: parsed requests, and plans with their statements.

Requests are cached by the shape of their URL (the query string without the values of plain filters) and by the headers that
decide the plan. A new catalog or configuration creates a new state, so that no cached entry is stale.
"""

from typing import Generic, TypeVar

from schemas.settings.tree import Api
from workers.database.schema_cache.catalog import Catalog, Role
from workers.database.schema_cache.similar_names import best_match
from workers.request_context.identity import IdentityResolver
from workers.rest.dialect import Dialect
from workers.rest.errors.token import token_error
from workers.rest.execute import TransactionDefaults
from workers.rest.model import ApiRequest, RestOptions, RestPlan, RestStatement
from workers.rest.parse.request import PlanHeaders
from workers.rest.query.query import query_for
from workers.rest.query.rows import rows_query_for
from workers.rest.respond import FixedHeaders, fixed_headers

_MAX_ENTRIES = 4096
_MAX_KEY_LENGTH = 8192

K = TypeVar("K")
V = TypeVar("V")
RequestKey = tuple[str, str, str, PlanHeaders]
"""Method, path, shape of the query string, and the headers that decide the plan."""


class CachedPlan:
    """A plan with its statements."""

    __slots__ = ("_fixed", "_statement", "by_rows", "plan")

    def __init__(self, plan: RestPlan) -> None:
        self.plan = plan
        self.by_rows = rows_query_for(plan)
        """The statement that returns the body row by row, where there is one: for answers that may be long."""
        self._statement: RestStatement | None = None
        self._fixed: dict[Dialect, FixedHeaders] = {}

    @property
    def statement(self) -> RestStatement:
        """The statement that returns one row, made when it is first needed: most plans have one or the other."""
        if self._statement is None:
            self._statement = query_for(self.plan)
        return self._statement

    def fixed_headers(self, dialect: Dialect) -> FixedHeaders:
        """Return the headers that all answers in a dialect have in common."""
        headers = self._fixed.get(dialect)
        if headers is None:
            headers = self._fixed[dialect] = fixed_headers(self.plan, dialect)
        return headers


class RequestShapeCache(Generic[K, V]):
    """A cache of at most 4096 entries. The oldest entry is dropped first; an entry with a long key is not stored.

    Clients choose every part of a key (the URL, the headers, the names in a body), so each part counts.
    """

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}
        self.get = self._entries.get

    def store(self, key: K, value: V) -> None:
        """Store an entry whose key has at most 8192 characters."""
        if _length(key) > _MAX_KEY_LENGTH:
            return
        if len(self._entries) >= _MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = value


def _length(key: object) -> int:
    """Return about the number of characters in a key: of its texts, at any depth."""
    if isinstance(key, str):
        return len(key)
    return sum(map(_length, key), len(key)) if isinstance(key, tuple) else 0


class RestState:
    """One configuration and one catalog, with the caches that are valid for them."""

    def __init__(self, api: Api, catalog: Catalog) -> None:
        self.api = api
        self.catalog = catalog
        self.options = options_of(api)
        self.adds_headers = bool(api.server_timing_enabled or api.server_trace_header)
        """Whether responses have headers that settings switch on."""
        self.identities = IdentityResolver(api, token_error)
        self.defaults = TransactionDefaults(
            tuple(api.extra_search_path), tuple(api.app_settings.items()), api.pre_request or None
        )
        self.requests = RequestShapeCache[RequestKey, ApiRequest]()
        self.plans = RequestShapeCache[tuple[object, ...], CachedPlan]()

    def role(self, name: str) -> Role:
        """Return a role's settings. A role that the login role cannot become is left to the database to reject."""
        return self.catalog.roles.get(name) or Role(name)


def options_of(api: Api) -> RestOptions:
    """Return the options that the steps read from the settings."""
    return RestOptions(
        schemas=tuple(api.schemas),
        max_rows=api.max_rows,
        tx_end=api.tx_end,
        aggregates_enabled=api.aggregates_enabled,
        require_filters=api.require_filters,
        plan_enabled=api.plan_enabled,
        legacy_target_names=api.legacy_target_names,
        root_spec=api.root_spec,
        openapi_mode=api.openapi_mode,
        hoisted=frozenset(api.hoisted_tx_settings),
        anonymous_role=api.anon_role,
        similar=best_match,
    )
