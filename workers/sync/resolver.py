"""Resolves the definitions of shapes for their callers, and publishes the tables that they need. Both remember what they did."""

import time
from collections.abc import Callable

import msgspec

from workers.database.connection_pool.pool import ConnectionPool
from workers.sync.catalog import publish
from workers.sync.definition import ResolvedShape, SyncCaller, resolve
from workers.sync.errors import InvalidParameters
from workers.sync.parameters import ShapeDefinition

_RESOLVED_S = 2.0
_MOST_RESOLVED = 5000
_REASONS = {
    "identity": "its updates and deletes would fail once it is published: alter table {name} replica identity full",
    "columns": "another publication lists columns of it: alter publication supabase_realtime set table {name}",
    "kind": "only ordinary and partitioned tables can be synced",
}


class DefinitionResolver:
    """Definitions as their callers may read them now."""

    def __init__(
        self, database: ConnectionPool, role_settings: Callable[[str], tuple[tuple[str, str], ...]]
    ) -> None:
        self._database, self._role_settings = database, role_settings
        self._published: set[int] = set()
        self._resolved: dict[tuple[ShapeDefinition, str, str], tuple[float, ResolvedShape]] = {}

    async def resolved(
        self, definition: ShapeDefinition, role: str, claims: dict[str, object]
    ) -> ResolvedShape:
        """Resolve a definition for a role and its claims. Raises: as `resolve`."""
        return await resolve(self._database, definition, SyncCaller(role, claims, self._role_settings(role)))

    async def resolved_for(self, definition: ShapeDefinition, role: str, claims: str) -> ResolvedShape:
        """Resolve a definition for a request; equal requests within `_RESOLVED_S` share the result. Raises: as `resolve`."""
        key = (definition, role, claims)
        cached = self._resolved.get(key)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        resolved = await self.resolved(definition, role, msgspec.json.decode(claims, type=dict[str, object]))
        if len(self._resolved) >= _MOST_RESOLVED:
            self._resolved.clear()
        self._resolved[key] = (time.monotonic() + _RESOLVED_S, resolved)
        return resolved

    async def publish(self, resolved: ResolvedShape) -> None:
        """Put the tables of a shape into the publication. Raises: InvalidParameters if one cannot be; as `catalog.publish`."""
        needed = [oid for oid in resolved.published if oid not in self._published]
        if needed:
            if reason := await publish(self._database, needed):
                name = f'"{resolved.table.schema}"."{resolved.table.name}"'
                raise InvalidParameters(
                    "table", f"{name} cannot be synced: {_REASONS[reason].format(name=name)}"
                )
            self._published.update(needed)
        for oid in resolved.optional:
            if oid not in self._published and not await publish(self._database, [oid]):
                self._published.add(oid)

    def forget_published(self) -> None:
        """Forget which tables are in the publication."""
        self._published.clear()

    def forget_resolved(self) -> None:
        """Forget what was resolved before a change of the catalog."""
        self._resolved.clear()
