"""The gateway's ports: the one of the API, with or without TLS, and the one without TLS that redirects to it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from aiohttp import web

from broker.nats.connection import NatsConnection
from broker.observability.tracing import STATE
from broker.processes.data_folder import data_folder
from broker.processes.inherited_sockets import InheritedSockets, take_sockets
from broker.processes.lifecycle import ManagedProcess, share_of_requests_s
from broker.processes.setting_files import find_file, setting_folders
from schemas.settings.certificates import TLS_ALPN, DnsProof
from schemas.settings.tree import Settings, SettingsError
from services.certificates.challenges import ChallengeResponder
from services.certificates.folder import CertificateFolder
from services.certificates.holder import CertificateHolder
from services.certificates.model import DnsMethod
from services.certificates.shared import SharedCertificates
from services.gateway.connections.certificate import Certificate
from services.gateway.connections.connection_limits import ConnectionLimits
from services.gateway.connections.listener import GatewayListener, HttpAnswers, Site
from services.gateway.connections.plain_port import PlainAnswers, hosts_of
from services.gateway.connections.tls_port import TlsPort
from services.gateway.direct.connection import DirectListener
from services.gateway.edge import Edge
from services.gateway.requests.transfer_rate import TransferLimits
from services.middleware.proxy_trust import ProxyTrust
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.ports import unbindable

_LEAST_WAIT_S = 0.01
_FIRST_HEAD_S = 2.0
"""Seconds in which a connection that was just accepted can send its first request before an edge closes."""


def request_wait_s(drain_s: float) -> float:
    """Return how long aiohttp waits for open requests when the edges have so many seconds to drain. It waits twice.

    Without an answer until then the requests are given up, and the later steps still have time to close the connections.
    """
    return max(share_of_requests_s(drain_s) / 2, _LEAST_WAIT_S)  # aiohttp takes 0 as no limit


async def open_ports(
    process: ManagedProcess, settings: Settings, edge: Edge, connection: NatsConnection
) -> GatewayListener:
    """Listen on the gateway's ports until the process drains; return the server of the first. Raises: SettingsError."""
    server, runner = await _server(settings, edge)
    tls, gateway, responder = settings.api.tls, settings.gateway, None
    inherited = take_sockets(os.environ)
    plain_port = tls.http_port or 0 if tls.enabled else 0
    plain, own = inherited.on_port(plain_port), inherited.without_port(plain_port)
    if tls.enabled:
        certificate = _open_certificate(settings)
        responder = await _follow_authority(process, settings, connection, certificate)
        is_asked_by_tls = TLS_ALPN in settings.certificates.challenges
        port: TlsPort | Site = TlsPort(
            server,
            gateway.host,
            settings.api.port,
            certificate.context,
            gateway.handshake_timeout,
            own,
            responder if is_asked_by_tls else None,
        )
        certificate.start()
        process.on_drain(certificate.close)
    else:
        port = Site(runner, gateway.host, settings.api.port, own)
    await _start(port, gateway.host, settings.api.port)
    process.on_drain(_stopping(settings, server, runner, port))
    if plain_port:
        await _open_plain(process, settings, responder, plain_port, plain)
    return server


async def _open_plain(
    process: ManagedProcess,
    settings: Settings,
    responder: ChallengeResponder | None,
    number: int,
    inherited: InheritedSockets,
) -> None:
    """Listen on the port without TLS."""
    answers = PlainAnswers(hosts_of(settings), settings.api.port, responder)
    server, runner = await _server(settings, answers)
    port = Site(runner, settings.gateway.host, number, inherited)
    await _start(port, settings.gateway.host, number)
    process.on_drain(_stopping(settings, server, runner, port))


async def _server(settings: Settings, answers: HttpAnswers) -> tuple[GatewayListener, web.ServerRunner]:
    """Return a server with the limits of the settings; its connections are its own."""
    gateway = settings.gateway
    uncounted = ProxyTrust.of(gateway).uncounted
    limits = ConnectionLimits(gateway.max_connections, gateway.max_connections_per_address, uncounted)
    make = (
        partial(DirectListener, answers)
        if isinstance(answers, Edge) and STATE.tracing is None
        else partial(GatewayListener, answers)
    )
    server = make(
        limits,
        max_url=gateway.max_url,
        max_headers=gateway.max_headers,
        header_timeout=gateway.header_timeout,
        keepalive_timeout=gateway.keepalive_timeout,
        transfer=TransferLimits.of(gateway),
    )
    runner = web.ServerRunner(server, handle_signals=False)
    await runner.setup()
    return server, runner


async def _start(port: TlsPort | Site, host: str, number: int) -> None:
    try:
        await port.start()
    except OSError as error:
        raise SettingsError(unbindable(host, number, error)) from None


def _stopping(
    settings: Settings,
    server: GatewayListener,
    runner: web.ServerRunner,
    port: TlsPort | Site,
) -> Callable[[], Awaitable[None]]:
    wait_s = request_wait_s(settings.pools.drain_timeout - settings.gateway.drain_delay)

    async def stop() -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + wait_s
        await port.stop()
        # No other process can answer the connections that this one accepted.
        await server.heads_received(min(_FIRST_HEAD_S, until - clock()))
        server.pre_shutdown()  # closes idle connections, for which aiohttp would wait
        await server.shutdown(max(until - clock(), _LEAST_WAIT_S))
        await runner.cleanup()

    return stop


def _open_certificate(settings: Settings) -> Certificate:
    """Return the certificate that is served: that of the settings' files, or that by ACME with the self-signed one before it is issued."""
    if not settings.certificates.domains:
        return Certificate.of_settings(settings.api.tls)
    data = data_folder()
    issued, own = CertificateFolder(data), DataFolder(data)
    return Certificate([(issued.certificate, issued.key), (own.certificate, own.certificate_key)])


async def _follow_authority(
    process: ManagedProcess, settings: Settings, connection: NatsConnection, certificate: Certificate
) -> ChallengeResponder | None:
    """Order and renew the certificate, and return what answers challenges; None without a domain."""
    own = settings.certificates
    if not own.domains:
        return None
    shared = SharedCertificates(connection, settings.auth.jwt_secret, replicas=settings.broker.replicas)
    holder = CertificateHolder(
        own,
        CertificateFolder(data_folder()),
        shared,
        certificate.reload_if_changed,
        ca_file=_found(own.directory_ca, setting_folders()),
        dns=_dns_method(own.dns),
    )

    holder.start()
    process.on_drain(holder.close)
    return ChallengeResponder(shared.challenges)


def _dns_method(own: DnsProof) -> DnsMethod:
    """Return how records are written. A program with a relative path stands beside config.toml; a bare name is looked for in PATH."""
    hook = list(own.hook)
    if hook and "/" in hook[0]:
        hook[0] = _found(hook[0], setting_folders())
    return DnsMethod(
        hook,
        float(own.hook_timeout),
        own.server,
        own.key_name,
        own.key_algorithm,
        "" if own.key_secret is None else own.key_secret.reveal(),
        float(own.wait),
    )


def _found(path: str, folders: Sequence[Path]) -> str:
    return str(find_file(path, folders)) if path else ""
