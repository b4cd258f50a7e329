"""A shadow server: a temporary, empty Postgres in which migrations are run to be compared.

Roles and server settings belong to all databases of a server, so a second database beside the live one would not do.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from services.supervisor import addresses
from services.supervisor.binaries import reachable_postgres
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.postgres import database_home, server
from services.supervisor.postgres.cluster import (
    SUPERUSER,
    Cluster,
    create_inner_folders,
)
from services.supervisor.postgres.running_server import running_server
from services.supervisor.postgres.system_user import ServerUser, may_reach, server_user
from services.supervisor.report import Reporter

_START_S = 30.0
_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "shared_buffers": "32MB"}


@contextlib.contextmanager
def shadow_server(folder: DataFolder, port: int, report: Reporter) -> Iterator[str]:
    """Yield the superuser's URL of an empty server that is removed after the block. `port` is only a preference.

    Raises: StartFailed, StartRefused.
    """
    user = server_user(report.info)
    live = (
        server.open_cluster(folder, report)
        if (folder.postgres.exists() or folder.cluster_pointer.exists())
        else None
    )
    programs = live.programs if live else reachable_postgres(user, report.info)
    password = secrets.token_urlsafe(24)
    with _home(folder, live, user) as home:
        cluster = Cluster(home, programs, live.user if live else user)
        create_inner_folders(cluster)
        server.prepare_cluster(cluster, None, password, _SETTINGS, _NullReporter())
        with running_server(cluster, "The shadow server", preferred_port=port, timeout_s=_START_S) as chosen:
            yield addresses.database_url(SUPERUSER, password, chosen)


@contextlib.contextmanager
def _home(folder: DataFolder, live: Cluster | None, user: ServerUser | None) -> Iterator[Path]:
    """Yield a folder that the server's user can reach: beside the live cluster, in the data folder, or outside of it."""
    if live is None and user is not None and not may_reach(user, folder.path):
        with database_home.short_lived_home(folder) as home:
            yield home
        return
    home = (live.home if live else folder.path) / f"shadow-{os.getpid()}"
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _NullReporter:
    """A `Reporter` that drops everything."""

    def info(self, line: str) -> None:
        """Do nothing."""

    def warn(self, line: str) -> None:
        """Do nothing."""

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Do nothing."""
