"""HTTP server of an edge process: aiohttp's low-level server with our own request handler, without aiohttp's router.

Measured: docs/decisions.md.
"""

import asyncio

from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.processes.connect import connect_broker
from broker.processes.data_folder import data_folder
from broker.processes.heap_trimming import keep_freed_memory
from broker.processes.lifecycle import ManagedProcess, environment_variables
from broker.requests.call import Calls
from schemas.keys.token_keys import read_keys
from schemas.keys.tokens import Verifier
from schemas.settings.auth_keys import listed_keys
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Settings, SettingsError, gateway_scheme
from services.gateway.connections.listener import GatewayListener
from services.gateway.edge import Edge
from services.gateway.health import Health
from services.gateway.objects.resumable.uploads import ResumableUploads
from services.gateway.objects.transfers import ObjectTransfers
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.compression import ResponseCompression
from services.gateway.requests.public_address import PublicAddress
from services.gateway.requests.routes import pools_of
from services.gateway.requests.transfer_rate import TransferLimits
from services.keys.issuers import third_party_issuers
from services.keys.key_fetch import KeyClient
from services.keys.keyring import GatewayKeyring
from services.keys.platform_keys import PlatformKeys
from services.keys.third_party_keys import ThirdPartyKeys
from services.listening import open_ports
from services.live_settings import EdgeSettingsFollower
from services.mail_catcher.edge import MailCatcher, MailCatcherOptions
from services.middleware.api_keys import GatewayKeys
from services.middleware.proxy_trust import ProxyTrust
from services.realtime.edge import RealtimeEdge
from services.subscriptions.edge import GraphQLSocketEdge
from services.subscriptions.live_reads import LiveReads
from services.subscriptions.live_service import open_live_queries
from services.supervisor.api_keys import keys_of
from services.supervisor.binaries import headwater_version
from services.supervisor.ports import LOOPBACK
from services.sync.edge import SyncEdge


async def serve_edges(process: ManagedProcess, settings: Settings, edges: list[str]) -> None:
    """Start the named edges, report the process as ready and wait until it is stopped. Raises: SettingsError."""
    if "mail" in edges:
        await _start_mail_catcher(process, settings)
    if "gateway" in edges:
        await _serve_gateway(process, settings)
    process.ready()
    await process.stopped()


async def _start_mail_catcher(process: ManagedProcess, settings: Settings) -> None:
    mail = settings.inbucket
    catcher = MailCatcher(
        MailCatcherOptions(LOOPBACK, mail.port, mail.smtp_port, mail.key, mail.max_letters, mail.max_bytes)
    )
    await catcher.start()
    process.on_drain(catcher.stop)


async def _serve_gateway(process: ManagedProcess, settings: Settings) -> None:
    """Open the gateway. What is opened is closed in reverse order when the process drains."""
    connection = await connect_broker(process, settings, "edges")
    calls = Calls(
        connection,
        max_in_flight=settings.gateway.max_in_flight,
        repeats_keyed=settings.api.idempotency.enabled,
    )
    keeper = await _open_keyring(process, settings, connection)
    objects = open_objects(settings, calls)
    if objects is not None:
        process.on_drain(objects.close)
        objects.lookups.follow(connection)
    health = Health(
        connection, calls, settings.gateway.metrics_token, pools_of(settings), headwater_version()
    )
    sockets = (
        await RealtimeEdge.open(settings, connection, calls, keeper) if settings.realtime.enabled else None
    )
    if sockets is not None:
        process.on_drain(sockets.close)
    feed = sockets.feed if sockets is not None else None
    is_subscribed = settings.graphql.enabled and settings.graphql.subscriptions.enabled
    live = None
    if feed is not None:
        live, close_live = await open_live_queries(settings.graphql.subscriptions, feed, connection)
        process.on_drain(close_live)
    subscriptions = GraphQLSocketEdge(settings, calls, keeper, feed, live) if is_subscribed else None
    if subscriptions is not None:
        process.on_drain(subscriptions.close)
    live_reads = LiveReads(settings.api.live, calls, live, settings.gateway.request_timeout)
    process.on_drain(live_reads.close)
    is_synced = settings.sync.enabled and settings.realtime.enabled
    shapes = SyncEdge(settings.sync, connection, calls) if is_synced else None
    if shapes is not None:
        process.on_drain(shapes.close)
    edge = Edge(settings, calls, keeper, health, objects, sockets, subscriptions, live_reads, shapes)
    edge.recent_writes.follow(connection)
    follower = EdgeSettingsFollower(SettingsBase(settings, environment_variables()), calls, edge.use)
    keeper.refresh = follower.refresh
    await follower.start(connection)
    process.on_drain(follower.close)
    server = await open_ports(process, settings, edge, connection)
    if sockets is not None:
        process.on_drain(sockets.drain)  # runs first: the server waits until its sockets are closed
    if subscriptions is not None:
        process.on_drain(subscriptions.drain)  # likewise
    process.on_drain(live_reads.drain)
    if shapes is not None:
        process.on_drain(shapes.drain)  # likewise
    _leave_proxies_first(process, settings, health, server)


async def _open_keyring(
    process: ManagedProcess, settings: Settings, connection: NatsConnection
) -> Authenticator:
    """Return the checks of keys and tokens, kept up to date with the platform's and third-party issuers' keys."""
    platform_keys = PlatformKeys(settings.auth)
    keeper = build_authenticator(settings, platform_keys)
    client = KeyClient()
    process.on_drain(client.close)
    third_party = ThirdPartyKeys(
        third_party_issuers(settings.auth.third_party, _own_issuers(settings)), client.keys, keeper.trust
    )
    keyring = GatewayKeyring(keeper, platform_keys, third_party)
    process.on_drain(keyring.close)
    await keyring.start(connection)
    return keeper


def _leave_proxies_first(
    process: ManagedProcess, settings: Settings, health: Health, server: GatewayListener
) -> None:
    """Make the drain begin by reporting 503 to proxies, while requests are answered with `Connection: close`."""

    async def leave() -> None:
        health.leave()
        server.leave()
        await asyncio.sleep(settings.gateway.drain_delay)

    process.on_drain(leave)


def open_objects(settings: Settings, calls: Calls) -> ObjectTransfers | None:
    """Return the handler of storage objects, or None when storage is switched off."""
    if not settings.storage.enabled:
        return None
    keep_freed_memory()
    blobs = BlobStore.open(settings.storage, data_folder())
    minimum_rate = TransferLimits.of(settings.gateway)
    trust = ProxyTrust.of(settings.gateway)
    address = PublicAddress(settings.storage.public_url or settings.api.external_url, trust)
    resuming = ResumableUploads(calls, blobs, address, minimum_rate)
    compression = ResponseCompression(settings.gateway.compression)
    return ObjectTransfers(calls, blobs, resuming, minimum_rate, compression, address)


def build_authenticator(settings: Settings, platform_keys: PlatformKeys | None = None) -> Authenticator:
    """Create the key checks and token verifiers from the settings. Raises: SettingsError if a key cannot be read."""
    auth, texts, jwt = settings.auth, keys_of(settings.auth), settings.api.jwt
    platform = (platform_keys or PlatformKeys(auth)).keys
    try:
        data = (
            platform if jwt.secret is None else read_keys(jwt.secret.reveal(), is_base64=jwt.secret_is_base64)
        )
    except ValueError as error:
        raise SettingsError(f"the JWT keys cannot be used: {error}") from None
    most = jwt.cache_max_entries
    verifier = Verifier(platform, max_entries=most)
    return Authenticator(
        GatewayKeys(
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
    """Return every `iss` that the platform's own tokens may carry."""
    gateways = (
        settings.api.external_url.rstrip("/"),
        f"{gateway_scheme(settings)}://{LOOPBACK}:{settings.api.port}",
    )
    configured = (settings.auth.jwt_issuer, settings.auth.external_url)
    return {*filter(None, configured), *(f"{gateway}/auth/v1" for gateway in gateways if gateway)}
