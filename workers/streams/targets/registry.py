"""The target of a stream by its address. Modules are loaded when they are needed: their packages may not be installed."""

import asyncio
import importlib
import importlib.util
import os
import socket
from urllib.parse import urlsplit

from broker.processes.secret_files import with_file_values
from schemas.keys.secret import Secret
from schemas.numbers import parse_whole_number
from schemas.settings.stream_checks import split_target
from schemas.settings.streams import StreamSettings
from schemas.stream_server import PORT_VARIABLE, SECRET_VARIABLE, publisher, server_url
from workers.http_client.address_guard import is_public
from workers.streams.model import SourceTable, TargetAway, TargetRejects
from workers.streams.targets.nats_target import NatsTarget
from workers.streams.targets.postgres_target import PostgresTarget
from workers.streams.targets.target import TableTarget

_NEEDED = {"file": "pyiceberg", "s3": "pyiceberg", "kafka": "aiokafka", "kafkas": "aiokafka"}
"""Scheme -> the package of the extra `streams` that it needs."""
_RESOLVE_S = 5.0


def kind_of(stream: StreamSettings) -> str:
    """Return the scheme of a stream's target."""
    return split_target(stream).scheme


async def target_of(name: str, stream: StreamSettings, source: SourceTable) -> TableTarget:
    """Return the target of the stream `name` for a table. Raises: TargetRejects, TargetAway."""
    kind = kind_of(stream)
    package = _NEEDED.get(kind)
    if package is not None and importlib.util.find_spec(package) is None:
        raise TargetRejects('its packages are missing: pip install "headwater[streams]"')
    await _check_address(stream, kind)
    match kind:
        case "nats":
            return NatsTarget(name, stream, source, _nats_url(name, stream))
        case "postgres" | "postgresql":
            return PostgresTarget(name, stream, source)
        case "kafka" | "kafkas":
            kafka = importlib.import_module("workers.streams.targets.kafka_target")
            messages: TableTarget = kafka.KafkaTarget(name, stream, source)
            return messages
    module = importlib.import_module("workers.streams.targets.iceberg_target")
    target: TableTarget = module.IcebergTarget(stream, source)
    return target


def _nats_url(name: str, stream: StreamSettings) -> Secret:
    """Return where the publisher of a stream connects: to the platform's own server, or to the one that the target names."""
    assert stream.target is not None  # checked with the settings
    if split_target(stream).hostname:
        return stream.target
    environment = with_file_values(os.environ)
    secret, port = (
        environment.get(SECRET_VARIABLE, ""),
        parse_whole_number(environment.get(PORT_VARIABLE, ""), least=1, most=65535),
    )
    if not secret or port is None:
        raise TargetRejects(
            "this platform runs no NATS server for streams: name one, as in nats://user:password@host:4222"
        )
    return server_url(Secret(secret), publisher(name), port)


async def _check_address(stream: StreamSettings, kind: str) -> None:
    """Refuse a host that is at a closed address now. Raises: TargetRejects; TargetAway if it cannot be found."""
    parts = urlsplit(stream.endpoint) if kind == "s3" else split_target(stream)
    if not parts.hostname or stream.closed_network:
        return
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(
                parts.hostname, parts.port, type=socket.SOCK_STREAM
            )
    except (OSError, TimeoutError, UnicodeError):
        raise TargetAway("its host cannot be found") from None
    if any(not is_public(str(entry[4][0])) for entry in found):
        raise TargetRejects("the target is at a private address, which closed_network = true would allow")
