"""The embedded Postgres: created where it is missing, configured at each start, ready when its lock file says so.

We write its whole configuration from the settings; a user's own server settings go to `[db.settings]` of the project's file, or
to `alter system`, which Postgres stores in a file of its own.
"""

import platform
import re
from collections.abc import Mapping
from pathlib import Path

from schemas.releases import release_number
from services.supervisor.binaries import SHARED, reachable_postgres
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres import added_extensions, database_home
from services.supervisor.postgres.cluster import (
    Cluster,
    create_cluster,
    create_inner_folders,
    remove_draft,
    reset_password,
)
from services.supervisor.postgres.extensions import fill_extension_folder
from services.supervisor.postgres.programs import chosen_programs, major_version, version_text
from services.supervisor.postgres.system_user import may_reach, server_user
from services.supervisor.postgres.tls import ServerTls, access_rules, listen_addresses, server_tls_settings
from services.supervisor.postgres.vault_key import ensure_vault_key
from services.supervisor.report import Reporter

_SOCKET_PATH_LIMIT = 90
"""Longest folder of a Unix socket in bytes: the system allows 107 bytes for the whole path, on some 103."""

_ACCESS = """\
# Written by headwater at each start: a password everywhere, and from outside this machine what [db.tls] says. `replication` is the physical
# one, which copies the whole cluster with the verifiers of all passwords: for the superuser alone. Logical replication names a
# database, so the lines of `all` are its.
local all         all                          scram-sha-256
host  all         all            127.0.0.1/32  scram-sha-256
host  all         all            ::1/128       scram-sha-256
local replication supabase_admin               scram-sha-256
host  replication supabase_admin 127.0.0.1/32  scram-sha-256
host  replication supabase_admin ::1/128       scram-sha-256
"""

FIRST_WITH_CONTROL_PATH = 18
"""The first version that looks for extensions in a folder of ours; an older one has its own alone."""
_FIRST_WITH_IO_WORKERS = 18
_FIRST_WITH_SUMMARIES = 17
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")


def open_cluster(folder: DataFolder, report: Reporter, *, shared: Path = SHARED) -> Cluster:
    """Find the home of this platform's database and the user that serves it; create the home where it is missing.

    Raises: StartRefused, StartFailed.
    """
    present_home = database_home.pointed_home(folder) or folder.postgres
    owner = (present_home / "data").stat().st_uid if (present_home / "data").exists() else None
    user = server_user(report.info, owner_uid=owner)
    programs = chosen_programs(folder) or reachable_postgres(user, report.info, shared)
    if user is None:
        home = folder.postgres
    elif not folder.postgres.exists() and (
        folder.cluster_pointer.exists() or not may_reach(user, folder.path)
    ):
        database_home.remove_abandoned_homes(report.info, shared)
        home = database_home.outside_home(folder, shared)
        database_home.lock_home(home)
    else:
        home = folder.postgres
    if ":" in str(home):
        raise StartRefused(
            f"The path {home} has a colon, which Postgres cannot take. Name another folder with --data."
        )
    cluster = Cluster(home, programs, user)
    create_inner_folders(cluster)
    if user and not may_reach(user, home):
        raise StartRefused(
            f"User {user.name}, who runs the database, cannot reach {home} any more. "
            f"Make its folders passable (`chmod o+x`), or name another data folder with --data."
        )
    return cluster


def prepare_cluster(
    cluster: Cluster,
    port: int | None,
    password: str,
    extra: Mapping[str, str],
    report: Reporter,
    tls: ServerTls | None = None,
) -> None:
    """Prepare a stopped cluster for its start: created, configured, with its extension folder.

    `port` None: who starts it names the port (running_server.py). `tls`: other machines may connect as it says.
    Raises: StartRefused if a server setting is not one line, or the data belongs to another major version; StartFailed.
    """
    if cluster.exists:
        remove_draft(cluster)
        _check_version(cluster)
    else:
        report.info(f"Making a new database in {cluster.data}")
        create_cluster(cluster, password)
    added = added_extensions.added_folder(cluster.programs, cluster.user, report.info)
    if major_version(cluster.programs) >= FIRST_WITH_CONTROL_PATH:
        fill_extension_folder(cluster, added_extensions.names(added))
    ensure_vault_key(cluster.home, cluster.user)
    (cluster.data / "postgresql.conf").write_text(
        configuration(cluster, port, extra, added, tls), encoding="utf-8"
    )
    (cluster.data / "pg_hba.conf").write_text(_ACCESS + access_rules(tls, "all"))


def renew_password(cluster: Cluster, password: str, report: Reporter) -> None:
    """Set a new superuser password of an existing database, for a data folder that lost the old one."""
    report.warn("The database's own password was lost with passwords.json; setting a new one")
    reset_password(cluster, password)


def socket_folder(cluster: Cluster) -> Path | None:
    """Return the folder of the Unix socket, or None if its path is too long."""
    return cluster.socket if len(str(cluster.socket).encode()) <= _SOCKET_PATH_LIMIT else None


def configuration(
    cluster: Cluster,
    port: int | None,
    extra: Mapping[str, str],
    added: Path | None = None,
    tls: ServerTls | None = None,
) -> str:
    """Return the text of `postgresql.conf` (pure). `added` has extensions of a package of their own; `extra` are the user's own settings
    and come last.
    """
    major = major_version(cluster.programs)
    settings = {
        "listen_addresses": listen_addresses(tls),
        **server_tls_settings(tls),
        **({} if port is None else {"port": str(port)}),
        "unix_socket_directories": str(socket_folder(cluster) or ""),
        "max_connections": "100",
        "shared_buffers": "128MB",
        "wal_level": "logical",
        "max_wal_senders": "16",
        "max_replication_slots": "16",
        "max_slot_wal_keep_size": "1GB",
        "max_wal_size": "1GB",
        "min_wal_size": "80MB",
        "password_encryption": "scram-sha-256",
        **(
            {
                "extension_control_path": f"{cluster.extensions}:{f'{added}/share:' if added else ''}$system",
                **(added_extensions.server_settings(added) if added else {}),
            }
            if major >= FIRST_WITH_CONTROL_PATH
            else {}
        ),
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.track_utility": "off",  # texts of utility statements contain verifiers of passwords
        # of each session: memory for 64 is set up otherwise, four times as much
        **({"io_workers": "2", "io_max_concurrency": "16"} if major >= _FIRST_WITH_IO_WORKERS else {}),
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "cluster_name": "headwater",
        **(
            {"recovery_init_sync_method": "syncfs"}
            if can_syncfs(platform.system(), platform.release())
            else {}
        ),
        "lc_messages": "C",
        **{
            name: value
            for name, value in extra.items()
            if name != "summarize_wal" or major >= _FIRST_WITH_SUMMARIES
        },
    }
    lines = [f"{_name(name)} = {_quoted(name, value)}" for name, value in settings.items()]
    head = "# Written by headwater at each start. Yours go to [db.settings] of config.toml, or to `alter system`."
    return "\n".join([head, *lines, ""])


def can_syncfs(system: str, release: str) -> bool:
    """Return whether the system flushes a whole file system with one call and reports its errors (Linux 5.8).

    A killed server flushes its data folder before it recovers; file by file that takes most of its restart (3 s of 3.5 s for 1,300
    files on a busy disk).
    """
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return system == "Linux" and numbers is not None and tuple(map(int, numbers.groups())) >= (5, 8)


def is_ready(cluster: Cluster, pid: int) -> bool:
    """Return whether the server with this process id accepts connections, by the status line of its lock file."""
    try:
        lines = (cluster.data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"


def server_pid(cluster: Cluster) -> int | None:
    """Return the process id in the cluster's lock file, whether or not that process still runs."""
    try:
        return int((cluster.data / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


def _check_version(cluster: Cluster) -> None:
    made_by = (cluster.data / "PG_VERSION").read_text().strip()
    if made_by != (ours := version_text(cluster.programs).split(".")[0]):
        is_newer = (release_number(made_by) or ()) > (release_number(ours) or ())
        advice = (
            "Start it with the headwater that made it, or a later one"
            if is_newer
            else "Bring it to this version with `headwater upgrade-postgres --from DIR`, the folder of its own programs"
        )
        raise StartRefused(
            f"The database in {cluster.data} was made by Postgres {made_by}, and this is Postgres {ours}. "
            f"{advice}, run a Postgres {made_by} of this machine with --postgres, or name another data folder with --data."
        )


def _name(name: str) -> str:
    if not _SETTING.fullmatch(name):
        raise StartRefused(f"[db.settings] has '{name}', which is no name of a server setting. Remove it.")
    return name


def _quoted(name: str, value: str) -> str:
    if "\n" in value or "\0" in value:
        raise StartRefused(f"[db.settings] {name} must be one line.")
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
