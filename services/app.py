"""The chosen edges in one HTTP server: aiohttp's low-level server, so that nothing stands on the hot path but our own.

Source: architecture, decision 12.
"""

from aiohttp import web

from broker.call import Calls
from broker.connection import Connection
from broker.metrics import answer_collect
from broker.process import Process
from schemas.settings import Auth, Settings, SettingsError
from schemas.tokens import KeySet, Verifier, read_keys
from services.catcher.edge import Catcher, CatcherOptions
from services.gateway.edge import Doorkeeper, Edge
from services.gateway.health import Health
from services.gateway.listener import Listener
from services.gateway.routes import POOLS
from services.middleware.apikey import Keys
from services.supervisor.api_keys import keys_of
from services.supervisor.ports import LOOPBACK

_HALF = 0.45
"""Part of the drain that aiohttp waits for a request; it does so twice, and the rest is for what is drained after it."""


async def serve_edges(process: Process, settings: Settings, edges: list[str]) -> None:
    """Open what each edge needs, listen, say that the process is ready, and wait for its end. Raises: SettingsError."""
    if "mail" in edges:
        await _catch_mail(process, settings)
    if "gateway" in edges:
        await _serve_gateway(process, settings)
    process.ready()
    await process.stopped()


async def _catch_mail(process: Process, settings: Settings) -> None:
    own = settings.inbucket
    catcher = Catcher(CatcherOptions(LOOPBACK, own.port, own.smtp_port, own.max_letters, own.max_bytes))
    await catcher.start()
    process.on_drain(catcher.stop)


async def _serve_gateway(process: Process, settings: Settings) -> None:
    if settings.broker.url is None:
        raise SettingsError("an edge needs broker.url (NATS_URL)")
    connection = await Connection.open(
        settings.broker.url.reveal(), name="edges", max_reconnect_wait=settings.broker.max_reconnect_wait
    )
    process.on_drain(connection.drain)
    answer_collect(connection)
    calls = Calls(connection, max_in_flight=settings.gateway.max_in_flight)
    edge = Edge(
        settings,
        calls,
        doorkeeper(settings),
        Health(connection, calls, settings.gateway.metrics_token, pools_of(settings)),
    )
    await _listen(process, settings, edge)


def doorkeeper(settings: Settings) -> Doorkeeper:
    """Make the keys and verifiers of the settings. Raises: SettingsError if a key cannot be read."""
    own, jwt = keys_of(settings.auth), settings.api.jwt
    try:
        platform = read_keys(own.jwt_secret) + _signing_keys(settings.auth)
        data = (
            platform if jwt.secret is None else read_keys(jwt.secret.reveal(), is_base64=jwt.secret_is_base64)
        )
    except (ValueError, OSError) as error:
        raise SettingsError(f"the JWT keys cannot be used: {error}") from None
    verifier = Verifier(platform, max_entries=jwt.cache_max_entries)
    keys = Keys(
        public=(own.anon_key, own.publishable_key),
        secret=(own.service_role_key, own.secret_key),
        verifier=verifier,
    )
    return Doorkeeper(
        keys, Verifier(data, audience=jwt.audience, max_entries=jwt.cache_max_entries), verifier
    )


def pools_of(settings: Settings) -> tuple[str, ...]:
    """Give the pools of the areas that are switched on."""
    return tuple(pool for pool in POOLS if pool != "auth" or settings.auth.enabled)


def _signing_keys(auth: Auth) -> KeySet:
    """Read the asymmetric keys of the accounts, from the settings and from a file."""
    keys = read_keys(auth.jwt_keys.reveal()) if auth.jwt_keys else KeySet()
    if not auth.signing_keys_path:
        return keys
    with open(auth.signing_keys_path, encoding="utf-8") as file:
        return keys + read_keys(file.read())


async def _listen(process: Process, settings: Settings, edge: Edge) -> None:
    gateway = settings.gateway
    server = Listener(
        edge,
        max_url=gateway.max_url,
        max_headers=gateway.max_headers,
        header_timeout=gateway.header_timeout,
        keepalive_timeout=gateway.keepalive_timeout,
    )
    runner = web.ServerRunner(server, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, gateway.host, settings.api.port, reuse_port=True, backlog=2048)
    try:
        await site.start()
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {gateway.host}:{settings.api.port}: {error.strerror}"
        ) from None

    async def stop() -> None:
        await site.stop()
        server.pre_shutdown()  # connections at rest are closed; aiohttp would wait for them
        await server.shutdown(settings.pools.drain_timeout * _HALF)
        await runner.cleanup()

    process.on_drain(stop)
