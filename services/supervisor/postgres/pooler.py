"""The pooler: PgBouncer of this machine before the embedded database, so that many clients share few connections.

Clients log in with their own names and passwords by SCRAM. PgBouncer asks the database for the verifier of a name with its login
`pgbouncer` (migration platform/0030_pooler.sql), and opens the client's connection to Postgres with what the client proved: it stores
no password but that of its own login, in a file that its system user alone reads.
"""

import asyncio
import os
import shutil
from pathlib import Path

from schemas.database_logins import POOLER
from schemas.settings.tree import Pooler
from services.supervisor.data_folder.folder import write_private
from services.supervisor.errors import StartRefused
from services.supervisor.ports import LOOPBACK
from services.supervisor.postgres.cluster import DATABASE, Cluster
from services.supervisor.postgres.server import socket_folder
from services.supervisor.postgres.tls import ServerTls, access_rules, listen_addresses, pooler_tls_settings

_PROGRAM = "pgbouncer"
_MORE_PLACES = "/usr/sbin:/usr/local/sbin:/sbin:/opt/homebrew/bin"
"""Debian installs the program where the path of an ordinary user does not lead."""
_FOLDER, _CONFIG, _USERS, _ACCESS = "pooler", "pgbouncer.ini", "users.txt", "access.conf"
_LOCAL_RULES = "host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n"
_ANSWER_TIMEOUT_S = 1.0
_NOT_INSTALLED = (
    "[db.pooler] is enabled, and the program pgbouncer is not installed here. Install the package `pgbouncer` (Debian, Ubuntu: "
    "apt install pgbouncer; Fedora: dnf install pgbouncer; macOS: brew install pgbouncer), and stop the service that the package "
    "starts, or start without --pooler and set db.pooler.enabled = false."
)


def find_pooler() -> Path:
    """Return the path of the program. Raises: StartRefused, with what to install, if it is not there."""
    program = shutil.which(_PROGRAM, path=f"{os.environ.get('PATH', '')}:{_MORE_PLACES}")
    if program is None:
        raise StartRefused(_NOT_INSTALLED)
    return Path(program)


def write_pooler_config(
    cluster: Cluster,
    settings: Pooler,
    port: int,
    db_port: int,
    password: str,
    tls: ServerTls | None = None,
) -> Path:
    """Write the configuration beside the database, readable by the database's system user only; return its path."""
    folder = cluster.home / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    config, users, access = folder / _CONFIG, folder / _USERS, folder / _ACCESS
    write_private(users, f'"{POOLER}" "{password.replace(chr(34), chr(34) * 2)}"\n'.encode())
    host = str(socket_folder(cluster) or LOOPBACK)
    write_private(access, f"{_LOCAL_RULES}{access_rules(tls, DATABASE)}".encode())
    write_private(config, pooler_config(settings, port, host, db_port, users, access, tls).encode())
    if cluster.user:
        for path in (folder, config, users, access):
            os.chown(path, cluster.user.uid, cluster.user.gid)
    return config


def pooler_config(
    settings: Pooler,
    port: int,
    host: str,
    db_port: int,
    users: Path,
    access: Path,
    tls: ServerTls | None = None,
) -> str:
    """Return the text of the configuration (pure).

    `host` is a folder of a Unix socket or an address, `users` the file of its login, `access` that of the rules from where clients come.

    Only the database `postgres` is served: it has the function that looks up verifiers. `auth_user` stands with the database and not for
    all: else a client that names the administration's own database `pgbouncer` would end the process of version 1.18.
    """
    lines = {
        "listen_addr": listen_addresses(tls),
        "listen_port": port,
        "unix_socket_dir": "",  # a client of the same system user would be its administrator there
        "auth_type": "hba",
        "auth_hba_file": access,
        "auth_file": users,
        "auth_query": "select username, password from pgbouncer.get_auth($1)",
        "pool_mode": settings.pool_mode,
        "default_pool_size": settings.default_pool_size,
        "max_db_connections": settings.default_pool_size,
        "max_client_conn": settings.max_client_conn,
        "server_login_retry": 1,  # seconds; by default a restart of the database keeps clients waiting for 15
        "ignore_startup_parameters": "extra_float_digits",
        "log_connections": 0,
        "log_disconnections": 0,
        "log_stats": 0,
        **pooler_tls_settings(tls),
    }
    quoted = "'" + host.replace("'", "''") + "'"
    return "\n".join([
        "; Written by headwater at each start.",
        "[databases]",
        f"{DATABASE} = host={quoted} port={db_port} dbname={DATABASE} auth_user={POOLER}",
        "[pgbouncer]",
        *(f"{name} = {value}" for name, value in lines.items()),
        "",
    ])  # fmt: skip


async def is_listening(port: int) -> bool:
    """Return whether the pooler takes connections on this port of the loopback address."""
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT_S):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return True
