"""A shadow server: a temporary, empty Postgres in which migrations are run to be compared.

Roles and server settings belong to all databases of a server, so a second database beside the live one would not do.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from services.supervisor import addresses
from services.supervisor.binaries import reachable_postgres
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.errors import StartFailed
from services.supervisor.postgres import database_home, server
from services.supervisor.postgres.cluster import (
    SUPERUSER,
    Cluster,
    create_inner_folders,
)
from services.supervisor.postgres.running_server import running_server
from services.supervisor.postgres.system_user import ServerUser, may_reach, server_user
from services.supervisor.processes.leftovers import stop_stray_server
from services.supervisor.report import Reporter, SilentReporter

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
        server.prepare_cluster(cluster, None, password, _SETTINGS, SilentReporter())
        with running_server(cluster, "The shadow server", preferred_port=port, timeout_s=_START_S) as chosen:
            yield addresses.database_url(SUPERUSER, password, chosen)


@contextlib.contextmanager
def _home(folder: DataFolder, live: Cluster | None, user: ServerUser | None) -> Iterator[Path]:
    """Yield a folder that the server's user can reach: beside the live cluster, in the data folder, or outside of it."""
    if live is None and user is not None and not may_reach(user, folder.path):
        with database_home.short_lived_home(folder) as home:
            yield home
        return
    with home_inside(live.home if live else folder.path) as home:
        yield home


@contextlib.contextmanager
def home_inside(parent: Path) -> Iterator[Path]:
    """Yield a new folder in `parent` that is removed after the block; first remove those of processes that were killed.

    Its process holds the lock of the file `lock` in it. One process at a time looks for folders and creates one, as a folder that
    is not locked yet looks like one that a killed process left.
    """
    with (parent / "shadow.lock").open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for left in parent.glob("shadow-*"):
            if not is_locked(left / "lock"):
                _remove(left)
        home = parent / f"shadow-{secrets.token_hex(8)}"
        home.mkdir(mode=0o700)
        lock = database_home.lock_home(home)
    try:
        yield home
    finally:
        os.close(lock)
        shutil.rmtree(home, ignore_errors=True)


def _remove(home: Path) -> None:
    """Remove a folder with its database; a server that outlived its process is stopped."""
    with contextlib.suppress(StartFailed):
        stop_stray_server(Cluster(home, Path(), None), SilentReporter())
        shutil.rmtree(home, ignore_errors=True)
