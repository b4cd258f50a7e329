"""The REST pool of a process: one worker on the shared resources, with a new state for every catalog and configuration."""

from broker.observability.observe import observe
from broker.subjects import REST
from schemas.settings.tree import SettingsError
from workers.database.schema_cache.database_options import OptionsIgnored
from workers.idempotency.startup import keyed_writes
from workers.resources import Resources
from workers.rest.keyed_writes import without_body
from workers.rest.state import RestState
from workers.rest.worker import RestWorker


async def serve_pool(resources: Resources) -> None:
    """Answer REST requests until the process drains. Raises: SettingsError, Unavailable."""
    try:
        state = RestState(resources.api, resources.cache.catalog)
    except ValueError as error:
        raise SettingsError(str(error)) from None

    def renew(_: object) -> None:
        nonlocal state
        try:
            state = RestState(resources.api, resources.cache.catalog)
        except ValueError as error:
            observe(OptionsIgnored(reasons=(str(error),)))

    resources.cache.on_change(renew)
    resources.cache.on_config(renew)
    max_body = resources.settings.gateway.max_body
    keyed = keyed_writes(resources, without_body)
    worker = RestWorker(resources.database, max_body, lambda: state, keyed, resources.cache.catch_up)
    await resources.serve(REST, worker.answer)
