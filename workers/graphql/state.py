"""What a GraphQL worker holds of one configuration and one catalog.

The catalogs are read once for all roles, when the first request comes; a role's schema is made when it first asks. A new
catalog or configuration makes a new state, so nothing kept can be stale; parsed documents outlive it.
"""

import asyncio
from collections.abc import Callable

from schemas.settings.tree import Api, Settings
from workers.database.schema_cache.catalog import Catalog, Role
from workers.database.transactions.model import TransactionRunner
from workers.graphql.errors import SchemaError, refused_token
from workers.graphql.parse.document import Document, parse_document
from workers.graphql.parse.limits import Limits, limits_of
from workers.graphql.reflect.build import build
from workers.graphql.reflect.read import read
from workers.graphql.reflect.rows import Snapshot
from workers.graphql.role import RoleState, keep
from workers.request_context.identity import IdentityResolver

_ROLES_KEPT = 250
_DOCUMENTS_KEPT = 1000
_LONGEST_KEPT = 32 * 1024


class Documents:
    """Parsed documents by their text."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: dict[str, Document] = {}

    def __call__(self, text: str) -> Document:
        """Give a document. Raises: GraphQLFailure."""
        found = self._kept.get(text)
        if found is None:
            found = parse_document(text, self._limits)
            if len(text) <= _LONGEST_KEPT:
                keep(self._kept, text, found, _DOCUMENTS_KEPT)
        return found


class State:
    """One configuration, one catalog."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        catalog: Catalog,
        sessions: TransactionRunner,
        documents: Callable[[str], Document],
    ) -> None:
        self.api = api
        self.identities = IdentityResolver(api, refused_token)
        self.limits = limits_of(settings.graphql)
        self.known_missing: set[str] = set()
        """What statements missed and will go on to miss: a new look at the catalogs did not help."""
        self._settings = settings.graphql
        self._catalog, self._sessions, self._documents = catalog, sessions, documents
        self._snapshot: asyncio.Task[Snapshot] | None = None
        self._roles: dict[str, RoleState | SchemaError] = {}
        self._making: dict[str, asyncio.Task[RoleState]] = {}

    def database_role(self, name: str) -> Role:
        """Give a role's settings; one that the login role may not become is left for the database to refuse."""
        return self._catalog.roles.get(name) or Role(name)

    async def role(self, name: str) -> RoleState:
        """Give what a role sees.

        Raises: SchemaError for wrong comments in the database; what reading the catalogs raises.
        """
        known = self._roles.get(name)
        if known is None:
            known = await self._made(name)
        if isinstance(known, SchemaError):
            raise SchemaError(known.detail)
        return known

    async def _made(self, name: str) -> RoleState | SchemaError:
        """Make a role's state once, however many requests wait for it. One that goes away takes nothing with it."""
        task = self._making.get(name)
        if task is None:
            task = self._making[name] = asyncio.create_task(self._make(name), name=f"schema of {name}")
            task.add_done_callback(lambda _: self._making.pop(name, None))
        try:
            made: RoleState | SchemaError = await asyncio.shield(task)
        except SchemaError as error:
            made = error
        if name not in self._roles:
            keep(self._roles, name, made, _ROLES_KEPT)
        return made

    async def _make(self, name: str) -> RoleState:
        if self._snapshot is None or (self._snapshot.done() and self._is_spoilt(self._snapshot)):
            self._snapshot = asyncio.create_task(
                read(self._sessions, self.api.schemas), name="graphql catalogs"
            )
        snapshot = await asyncio.shield(self._snapshot)
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
    def _is_spoilt(task: asyncio.Task[Snapshot]) -> bool:
        return task.cancelled() or task.exception() is not None
