"""State of a GraphQL worker for one configuration and one catalog.

The catalogs are read once for all roles, at the first request or when the process is ready; the schema of a role is built at the role's first request.
Each new catalog or configuration replaces the whole state, so its caches cannot be stale. Only parsed documents, which
depend on neither, are shared by consecutive states.
"""

import asyncio
from collections.abc import Callable

from schemas.settings.tree import Api, Settings
from workers.database.schema_cache.catalog import Catalog, Role
from workers.database.transactions.model import TransactionRunner
from workers.graphql.errors import SchemaError, rejected_token
from workers.graphql.parse.document import Document, parse_document
from workers.graphql.parse.limits import OperationLimits, limits_from
from workers.graphql.reflect.build import build
from workers.graphql.reflect.read import read
from workers.graphql.reflect.rows import CatalogSnapshot
from workers.graphql.role import QueryCache, RoleState, store_bounded
from workers.request_context.identity import IdentityResolver

_MOST_ROLES = 250
_MOST_DOCUMENTS = 1000


class ParsedDocuments:
    """Parsed documents by their text."""

    def __init__(self, limits: OperationLimits) -> None:
        self._limits = limits
        self._cache = QueryCache[str, Document](_MOST_DOCUMENTS)

    def __call__(self, text: str) -> Document:
        """Return the parsed document of a text. Raises: GraphQLFailure."""
        document = self._cache.get(text)
        if document is None:
            document = parse_document(text, self._limits)
            self._cache.put(text, document, len(text))
        return document


class GraphQLState:
    """State for one configuration and one catalog: caller identities, limits, and the state of each role."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        catalog: Catalog,
        sessions: TransactionRunner,
        documents: Callable[[str], Document],
    ) -> None:
        self.api = api
        self.identities = IdentityResolver(api, rejected_token)
        self.limits = limits_from(settings.graphql)
        self.missing_names: set[str] = set()
        """Error messages about missing names that a reload of the catalogs has not resolved."""
        self._settings = settings.graphql
        self._catalog, self._sessions, self._documents = catalog, sessions, documents
        self._snapshot: asyncio.Task[CatalogSnapshot] | None = None
        self._roles: dict[str, RoleState | SchemaError] = {}
        self._building: dict[str, asyncio.Task[RoleState]] = {}

    def database_role(self, name: str) -> Role:
        """Return a role's settings. A role that the login role cannot switch to is rejected by the database later."""
        return self._catalog.roles.get(name) or Role(name)

    def built_role(self, name: str) -> RoleState | None:
        """Return the state of a role if it is cached and valid."""
        role = self._roles.get(name)
        return role if isinstance(role, RoleState) else None

    async def role(self, name: str) -> RoleState:
        """Return the state of a role, built if it is not cached.

        Raises: SchemaError for invalid comment directives in the database; what reading the catalogs raises.
        """
        role = self._roles.get(name)
        if role is None:
            role = await self._build_once(name)
        if isinstance(role, SchemaError):
            raise SchemaError(role.detail)
        return role

    async def _build_once(self, name: str) -> RoleState | SchemaError:
        """Build a role's state once for all requests that wait for it. A cancelled request does not cancel the task."""
        task = self._building.get(name)
        if task is None:
            task = self._building[name] = asyncio.create_task(self._build(name), name=f"schema of {name}")
            task.add_done_callback(lambda _: self._building.pop(name, None))
        try:
            # Shielded: other requests wait for the same task when this one is cancelled.
            result: RoleState | SchemaError = await asyncio.shield(task)
        except SchemaError as error:
            result = error
        if name not in self._roles:
            store_bounded(self._roles, name, result, _MOST_ROLES)
        return result

    def read_catalogs(self) -> asyncio.Task[CatalogSnapshot]:
        """Return the task that reads the catalogs, started if it is not or has failed: at the first request, or earlier to save it the time."""
        if self._snapshot is None or (self._snapshot.done() and self._has_failed(self._snapshot)):
            self._snapshot = asyncio.create_task(
                read(self._sessions, self.api.schemas), name="graphql catalogs"
            )
        return self._snapshot

    async def _build(self, name: str) -> RoleState:
        snapshot = await asyncio.shield(self.read_catalogs())
        schema = await asyncio.to_thread(
            build,
            snapshot,
            name,
            self._catalog.version,
            introspection=self._settings.introspection,
            additions=self._settings.additions,
        )
        return RoleState(schema, self.limits, self._documents, is_strict=self._settings.strict)

    @staticmethod
    def _has_failed(task: asyncio.Task[CatalogSnapshot]) -> bool:
        return task.cancelled() or task.exception() is not None
