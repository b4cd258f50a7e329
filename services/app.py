"""The chosen edges in one HTTP server: aiohttp's low-level server, so that nothing stands on the hot path but our own.

Source: architecture, decision 12.
"""

import asyncio

from aiohttp import web

from broker.blobs.store import BlobStore
from broker.nats.connection import Connection
from broker.observability.metrics import answer_collect
from broker.processes.lifecycle import Process, data_folder
from broker.requests.call import Calls
from schemas.keys.token_keys import read_keys
from schemas.keys.tokens import Verifier
from schemas.settings.auth_keys import listed_keys
from schemas.settings.tree import Settings, SettingsError, gateway_scheme
from services.catcher.edge import Catcher, CatcherOptions
from services.gateway.certificate import Certificate
from services.gateway.connections import Connections
from services.gateway.doorkeeper import Doorkeeper
from services.gateway.edge import Edge
from services.gateway.health import Health
from services.gateway.listener import Listener, Site
from services.gateway.objects import Objects
from services.gateway.pace import Patience
from services.gateway.public_address import PublicAddress
from services.gateway.resuming import Resuming
from services.gateway.routes import pools_of
from services.keys.foreign import ForeignKeys
from services.keys.issuers import foreign_issuers
from services.keys.keyring import Keyring
from services.keys.own import OwnKeys
from services.keys.published import Publications
from services.middleware.apikey import Keys
from services.middleware.limits import read_networks
from services.realtime.edge import Realtime
from services.subscriptions.edge import GraphQLSockets
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
    calls = Calls(
        connection,
        max_in_flight=settings.gateway.max_in_flight,
        repeats_keyed=settings.api.idempotency.enabled,
    )
    own = OwnKeys(settings.auth)
    keeper = doorkeeper(settings, own)
    publications = Publications()
    process.on_drain(publications.close)
    foreign = ForeignKeys(
        foreign_issuers(settings.auth.third_party, _own_issuers(settings)), publications.keys, keeper.trust
    )
    keyring = Keyring(keeper, own, foreign)
    process.on_drain(keyring.close)
    await keyring.start(connection)
    objects = open_objects(settings, calls)
    if objects is not None:
        process.on_drain(objects.close)
    health = Health(connection, calls, settings.gateway.metrics_token, pools_of(settings))
    sockets = await Realtime.open(settings, connection, calls, keeper) if settings.realtime.enabled else None
    if sockets is not None:
        process.on_drain(sockets.close)
    feed = sockets.feed if sockets is not None else None
    is_subscribed = settings.graphql.enabled and settings.graphql.subscriptions.enabled
    subscriptions = GraphQLSockets(settings, calls, keeper, feed) if is_subscribed else None
    if subscriptions is not None:
        process.on_drain(subscriptions.close)
    server = await _listen(
        process, settings, Edge(settings, calls, keeper, health, objects, sockets, subscriptions)
    )
    if sockets is not None:
        process.on_drain(sockets.drain)  # called first: the server waits for its sockets to end
    if subscriptions is not None:
        process.on_drain(subscriptions.drain)  # likewise

    async def leave() -> None:
        """Tell proxies first; whoever still asks meanwhile is answered, and told to ask elsewhere next time."""
        health.leave()
        server.leave()
        await asyncio.sleep(settings.gateway.drain_delay)

    process.on_drain(leave)


def open_objects(settings: Settings, calls: Calls) -> Objects | None:
    """Give the way of objects through the door; None where storage is switched off."""
    if not settings.storage.enabled:
        return None
    blobs = BlobStore.open(settings.storage, data_folder())
    patience = Patience.of(settings.gateway)
    trusted = read_networks(settings.gateway.trusted_proxies)
    address = PublicAddress(settings.storage.public_url or settings.api.external_url, trusted)
    resuming = Resuming(calls, blobs, address, patience)
    return Objects(calls, blobs, resuming, patience)


def doorkeeper(settings: Settings, own: OwnKeys | None = None) -> Doorkeeper:
    """Make the keys and verifiers of the settings. Raises: SettingsError if a key cannot be read."""
    auth, texts, jwt = settings.auth, keys_of(settings.auth), settings.api.jwt
    platform = (own or OwnKeys(auth)).keys
    try:
        data = (
            platform if jwt.secret is None else read_keys(jwt.secret.reveal(), is_base64=jwt.secret_is_base64)
        )
    except ValueError as error:
        raise SettingsError(f"the JWT keys cannot be used: {error}") from None
    most = jwt.cache_max_entries
    verifier = Verifier(platform, max_entries=most)
    return Doorkeeper(
        Keys(
            public=(texts.anon_key, texts.publishable_key, *listed_keys(auth.publishable_keys)),
            secret=(texts.service_role_key, texts.secret_key, *listed_keys(auth.secret_keys)),
            verifier=verifier,
        ),
        platform=verifier,
        data=Verifier(data, audience=jwt.audience, max_entries=most),
        objects=Verifier(platform, max_entries=most),
        data_has_own_secret=jwt.secret is not None,
    )


def _own_issuers(settings: Settings) -> set[str]:
    """Give every text that may stand as `iss` in our own tokens."""
    gateways = (
        settings.api.external_url.rstrip("/"),
        f"{gateway_scheme(settings)}://{LOOPBACK}:{settings.api.port}",
    )
    named = (settings.auth.jwt_issuer, settings.auth.external_url)
    return {*filter(None, named), *(f"{gateway}/auth/v1" for gateway in gateways if gateway)}


async def _listen(process: Process, settings: Settings, edge: Edge) -> Listener:
    gateway = settings.gateway
    trusted = read_networks(gateway.trusted_proxies)
    server = Listener(
        edge,
        Connections(gateway.max_connections, gateway.max_connections_per_address, trusted),
        max_url=gateway.max_url,
        max_headers=gateway.max_headers,
        header_timeout=gateway.header_timeout,
        keepalive_timeout=gateway.keepalive_timeout,
    )
    runner = web.ServerRunner(server, handle_signals=False)
    await runner.setup()
    certificate = Certificate(settings.api.tls) if settings.api.tls.enabled else None
    context = certificate.context if certificate else None
    site = Site(runner, gateway.host, settings.api.port, context, gateway.handshake_timeout)
    try:
        await site.start()
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {gateway.host}:{settings.api.port}: {error.strerror}"
        ) from None
    if certificate is not None:
        certificate.start()
        process.on_drain(certificate.close)

    async def stop() -> None:
        await site.stop()
        server.pre_shutdown()  # connections at rest are closed; aiohttp would wait for them
        await server.shutdown((settings.pools.drain_timeout - settings.gateway.drain_delay) * _HALF)
        await runner.cleanup()

    process.on_drain(stop)
    return server
