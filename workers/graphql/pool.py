"""The GraphQL pool of a process: one worker on the shared resources, and a new state for each catalog and configuration."""

import asyncio
import contextlib

from broker.observability.observe import observe
from broker.subjects import GRAPHQL
from schemas.settings.tree import SettingsError
from workers.database.schema_cache.database_options import OptionsIgnored
from workers.graphql.idempotency import without_body
from workers.graphql.parse.limits import limits_from
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.state import GraphQLState, ParsedDocuments
from workers.graphql.subscriptions.service import SubscribableWorker
from workers.graphql.worker import GraphQLWorker
from workers.idempotency.startup import keyed_writes
from workers.resources import Resources

_RENEWAL_S = 3.0
"""How long a request waits for the schema that it needs."""


class _CurrentState:
    """The state that requests use. Each new catalog and configuration replaces it."""

    def __init__(self, resources: Resources) -> None:
        """Create the first state. Raises: SettingsError."""
        self._resources, self._settings = resources, resources.settings
        self._documents = ParsedDocuments(limits_from(self._settings.graphql))
        self._replaced = asyncio.Event()
        try:
            self._state = self._create()
        except ValueError as error:
            raise SettingsError(str(error)) from None

    def get(self) -> GraphQLState:
        """Return the current state."""
        return self._state

    def replace(self, _: object) -> None:
        """Create a state for the present catalog and configuration; keep the old one if the configuration is invalid."""
        try:
            self._state = self._create()
        except ValueError as error:
            observe(OptionsIgnored(reasons=(str(error),)))
        self._replaced.set()
        self._replaced = asyncio.Event()

    def read_ahead(self) -> None:
        """Begin to read the catalogs, for which the first request would wait otherwise. After a failure that request reads them again."""
        task = self._state.read_catalogs()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # so it counts as seen

    async def wait_for_newer(self, stale: GraphQLState) -> bool:
        """Request a reload if `stale` is the current state, and wait up to `_RENEWAL_S`. Return whether a newer state came."""
        if self._state is stale:
            self._resources.cache.request_reload(options=False)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_RENEWAL_S):
                while self._state is stale:
                    await self._replaced.wait()
        return self._state is not stale

    def _create(self) -> GraphQLState:
        resources = self._resources
        return GraphQLState(
            resources.api, self._settings, resources.cache.catalog, resources.database, self._documents
        )


async def serve_pool(resources: Resources) -> None:
    """Answer GraphQL requests until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    current = _CurrentState(resources)
    resources.cache.on_change(current.replace)
    resources.cache.on_config(current.replace)
    worker = GraphQLWorker(
        resources.database,
        settings.gateway.max_body,
        current.get,
        current.wait_for_newer,
        PersistedQueries(settings.graphql.persisted_queries),
        has_page=settings.graphql.page,
        keyed_writes=keyed_writes(resources, without_body),
    )
    subscribable = SubscribableWorker(
        worker, resources.database, settings.gateway.max_body, current.get, current.wait_for_newer
    )
    await resources.serve(GRAPHQL, subscribable.answer)
    resources.process.on_ready(current.read_ahead)
