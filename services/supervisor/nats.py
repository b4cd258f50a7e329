"""The embedded nats-server: its configuration, and a probe of whether it answers.

It listens on the loopback address only and keeps JetStream's store in the data folder. It accepts only the users of
`broker.subjects`: one for the edges, one for the pools, one for the process `changes`, each limited to the subjects it needs.
"""

import asyncio
from pathlib import Path

from schemas.stream_server import RESERVED_GIB
from services.supervisor.data_folder.folder import DataFolder, write_private

HOST = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound
_ANSWER_TIMEOUT_S = 1.0
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_RESERVED = f"{RESERVED_GIB}GB"
"""Bytes that streams of a server may reserve together. The server's default, three quarters of the free disk, is too little on a small one."""


def write_nats_config(folder: DataFolder, port: int, authorization: str) -> Path:
    """Write the server's configuration, readable by its owner only, and return its path."""
    path = folder.nats / "nats.conf"
    write_private(path, nats_config(port, folder.nats / "store", authorization).encode())
    return path


def write_stream_server_config(folder: DataFolder, host: str, port: int, accounts: str) -> Path:
    """Write the configuration of the server for consumers of streams, readable by its owner only, and return its path."""
    path = folder.nats / "streams.conf"
    lines = [
        "# Written by headwater at each start.",
        "server_name: headwater-streams",
        f"host: {quoted(host)}",
        f"port: {port}",
        "max_payload: 8MB",
        "write_deadline: 10s",
        f"jetstream: {{ store_dir: {quoted(str(folder.nats / 'streams'))}, max_memory_store: 16MB, max_file_store: {_RESERVED} }}",
        accounts,
        "",
    ]
    write_private(path, "\n".join(lines).encode())
    return path


def nats_config(port: int, store: Path, authorization: str) -> str:
    """Return the text of a nats-server configuration (pure). `authorization` names users and their permissions."""
    return "\n".join([
        "# Written by headwater at each start.",
        "server_name: headwater",
        f"host: {quoted(HOST)}",
        f"port: {port}",
        "max_payload: 8MB",
        "write_deadline: 10s",
        f"jetstream: {{ store_dir: {quoted(str(store))}, max_memory_store: 64MB, max_file_store: {_RESERVED} }}",
        authorization,
        "",
    ])  # fmt: skip


def quoted(value: str) -> str:
    """Return a string of a nats-server configuration (pure). It reads UTF-8, and fewer escapes than JSON: not `\\u00e9`."""
    return f'"{value.translate(_ESCAPES)}"'


def nats_environment(cores: int) -> dict[str, str]:
    """Return the variables under which the server runs on a machine with this number of cores (pure).

    The server needs a tenth of a request's CPU time. By default Go starts threads for all cores, which then look for work on the
    cores of the platform's other processes: 0.047 ms of CPU a request with two cores, 0.030 ms with one.
    """
    return {"GOMAXPROCS": str(max(1, cores // 4))}


async def is_answering(port: int, host: str = HOST, within_s: float = _ANSWER_TIMEOUT_S) -> bool:
    """Return whether a nats-server greets on this port, of the loopback address unless a host is given; one that listens on all addresses
    is asked on loopback.
    """
    try:
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection(HOST if host in _EVERYWHERE else host, port)
            try:
                return (await reader.read(5)).startswith(b"INFO")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
