"""The embedded nats-server: its configuration, and whether it answers.

It listens on the loopback address only, keeps JetStream's store in the data folder, and lets in the users of
`broker.subjects` alone: one for each wing, each with the subjects it needs.
"""

import asyncio
import json
from pathlib import Path

from services.supervisor.data_folder.folder import DataFolder, write_private

HOST = "127.0.0.1"
_ANSWER_TIMEOUT_S = 1.0
_RESERVED = "64GB"
"""What streams may promise in all. By itself the server takes three quarters of the free disk, and refuses streams on a small one."""


def write_nats_config(folder: DataFolder, port: int, authorization: str) -> Path:
    """Write the server's configuration, readable by its owner only, and give its path."""
    path = folder.nats / "nats.conf"
    write_private(path, nats_config(port, folder.nats / "store", authorization).encode())
    return path


def nats_config(port: int, store: Path, authorization: str) -> str:
    """Give the text of a nats-server configuration (pure). `authorization` names users and what they may do."""
    return "\n".join([
        "# Written by headwater at each start.",
        "server_name: headwater",
        f"host: {json.dumps(HOST)}",
        f"port: {port}",
        "max_payload: 8MB",
        "write_deadline: 10s",
        f"jetstream: {{ store_dir: {json.dumps(str(store))}, max_memory_store: 64MB, max_file_store: {_RESERVED} }}",
        authorization,
        "",
    ])  # fmt: skip


def nats_environment(cores: int) -> dict[str, str]:
    """Give the variables under which the server runs on a machine with so many cores (pure).

    It needs a tenth of what a request costs in all. Go would give it threads for all cores, which look for work on the cores
    where the other parts of the platform have theirs: 0.047 ms of CPU a request on two cores, 0.030 with one.
    """
    return {"GOMAXPROCS": str(max(1, cores // 4))}


async def answers(port: int) -> bool:
    """Tell whether a nats-server greets on this port of the loopback address."""
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                return (await reader.read(5)).startswith(b"INFO")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
