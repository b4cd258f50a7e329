"""The GraphQL pool of a process: one worker on the shared resources, with a new state for every catalog and configuration."""

import asyncio
import contextlib

from broker.observability.observe import observe
from broker.subjects import GRAPHQL
from schemas.settings.tree import SettingsError
from workers.database.schema_cache.database_options import OptionsIgnored
from workers.graphql.following.service import SubscribableWorker
from workers.graphql.keyed import without_body
from workers.graphql.parse.limits import limits_of
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.state import Documents, State
from workers.graphql.worker import GraphQLWorker
from workers.idempotency.startup import keyed_writes
from workers.resources import Resources

_RENEWAL_S = 3.0
"""How long a request waits for the schema that it needs."""


async def serve_pool(resources: Resources) -> None:
    """Answer GraphQL requests until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    documents = Documents(limits_of(settings.graphql))

    def made() -> State:
        return State(resources.api, settings, resources.cache.catalog, resources.database, documents)

    try:
        state = made()
    except ValueError as error:
        raise SettingsError(str(error)) from None

    changed = asyncio.Event()

    def renew(_: object) -> None:
        nonlocal state, changed
        try:
            state = made()
        except ValueError as error:
            observe(OptionsIgnored(reasons=(str(error),)))
        changed.set()
        changed = asyncio.Event()

    async def renewed(stale: State) -> bool:
        """Wait for another state: the catalog is read soon after every change."""
        if state is stale:
            resources.cache.request_reload(options=False)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_RENEWAL_S):
                while state is stale:
                    await changed.wait()
        return state is not stale

    resources.cache.on_change(renew)
    resources.cache.on_config(renew)
    worker = GraphQLWorker(
        resources.database,
        settings.gateway.max_body,
        lambda: state,
        renewed,
        PersistedQueries(settings.graphql.persisted_queries),
        has_page=settings.graphql.page,
        keyed_writes=keyed_writes(resources, without_body),
    )
    whole = SubscribableWorker(worker, resources.database, settings.gateway.max_body, lambda: state, renewed)
    await resources.serve(GRAPHQL, whole.answer)
