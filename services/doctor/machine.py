"""What concerns the machine and the settings: disk, clock, ports, the data folder, well-known keys."""

import os
import shutil
import time
from pathlib import Path

from broker.blobs.folder import folder_size, staging_folder
from broker.processes.confinement import NO_WALL, NO_WALL_CURE, has_own_users, holds_functions, landlock_abi
from broker.processes.control_groups import find_delegation
from schemas.database_logins import password_variables, sharing_logins
from schemas.settings.tree import Settings
from services.doctor.finding import Finding, Level
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.errors import SupervisorError
from services.supervisor.exposure import development_secrets, is_loopback
from services.supervisor.ports import LOOPBACK, is_free

_MIB = 1024 * 1024
_LEAST_FREE, _SCARCE_FREE = 512 * _MIB, 4096 * _MIB
_MUCH_STAGED = 0.8
_BUILT = 1735689600.0
"""2025-01-01: no clock that is right shows an earlier time."""


def look_at_logins(settings: Settings) -> list[Finding]:
    """Tell which logins of an outside database have the password of another one. Ours gets random ones."""
    if settings.db.url is None or not (shared := sharing_logins(settings)):
        return []
    names = password_variables(settings)
    return [
        Finding(
            "logins",
            Level.WARNING,
            f"{', '.join(shared)} have the password of another login of the database: whoever knows one opens them all",
            f"Set {', '.join(names[role] for role in shared)}, a random one each, and migrate "
            "(`headwater keys files` makes those of many machines).",
        )
    ]


def look_at_disk(path: Path) -> Finding:
    """Tell whether there is room for the database and its log."""
    there = next(each for each in (path, *path.parents) if each.exists())
    usage = shutil.disk_usage(there)
    told = f"{usage.free // _MIB:,} MiB of {usage.total // _MIB:,} MiB are free at {there}"
    cure = "Free some room, or move the data folder to a larger disk: a full disk stops the database."
    if usage.free < _LEAST_FREE:
        return Finding("disk", Level.ERROR, told, cure)
    return Finding(
        "disk",
        Level.WARNING if usage.free < _SCARCE_FREE else Level.OK,
        told,
        cure if usage.free < _SCARCE_FREE else "",
    )


def look_at_staging(settings: Settings, data: Path) -> list[Finding]:
    """Return how much of what they may take the uploads take that are being written, or broke off."""
    storage, title = settings.storage, "uploads"
    if not storage.enabled or storage.backend != "file":
        return []
    size = folder_size(staging_folder(storage, data))
    told = f"{size // _MIB:,} MiB are being written, or were left by uploads that broke off"
    if not storage.staging_limit:
        return [Finding(title, Level.OK, told)]
    told += f"; at most {storage.staging_limit // _MIB:,} MiB may be"
    if size < storage.staging_limit * _MUCH_STAGED:
        return [Finding(title, Level.OK, told)]
    cure = (
        f"What broke off is removed {storage.staging_expiry:.0f} s after its last byte (`storage.staging_expiry`) by a running "
        "platform; if so many uploads are meant to go on at once, raise storage.staging_limit: beyond it they get 507."
    )
    return [Finding(title, Level.WARNING, told, cure)]


def look_at_clock(now: float | None = None, server: float | None = None) -> Finding:
    """Tell whether the clock can be right: tokens, codes and TLS go by it."""
    now = time.time() if now is None else now
    cure = "Set the clock by NTP (`timedatectl set-ntp true`): tokens are refused where clocks differ."
    if now < _BUILT:
        return Finding(
            "clock", Level.ERROR, f"it is {time.strftime('%Y-%m-%d', time.gmtime(now))} here", cure
        )
    if server is not None and abs(now - server) > 5:
        return Finding("clock", Level.ERROR, f"it differs from the database's by {now - server:+.0f} s", cure)
    return Finding("clock", Level.OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def look_at_keys(settings: Settings) -> Finding:
    """Tell whether published keys protect what others can reach."""
    found = development_secrets(settings)
    if not found:
        return Finding("keys", Level.OK, "all are your own")
    if is_loopback(settings.gateway.host):
        return Finding("keys", Level.OK, "the published development keys, on this machine's own address")
    return Finding(
        "keys",
        Level.ERROR,
        f"{settings.gateway.host} can be reached from outside, and {', '.join(found)} have their published values",
        "Make random ones: `headwater keys >> .env`, then restart.",
    )


def look_at_functions(settings: Settings, process: int | None = None) -> list[Finding]:
    """Tell what keeps functions from the platform's own files, beside the permissions of their runtime.

    `process` is the running platform's: its control group counts, not that of this shell.
    """
    runtime, title = settings.edge_runtime, "functions"
    if not runtime.enabled:
        return []
    if not holds_functions():
        level = Level.WARNING if runtime.unsafe_without_sandbox else Level.ERROR
        return [Finding(title, level, NO_WALL, NO_WALL_CURE)]
    abi = landlock_abi()
    walls = [f"Landlock (ABI {abi})"] if abi else []
    if os.geteuid() == 0:
        walls.append("users of their own" if has_own_users() else "a user of their own")
    found = [Finding(title, Level.OK, f"held by {' and '.join(walls)}")]
    if not abi:
        cure = "Use a kernel with Landlock (Linux 5.13 or later, `lsm=landlock,...`): functions of one user are not kept apart."
        found = [Finding(title, Level.WARNING, f"held by {walls[0]} alone", cure)]
    return [*found, _limits_of_functions(process)]


def _limits_of_functions(process: int | None) -> Finding:
    """Report what bounds functions' memory: of the running platform, else of one that this shell would start."""
    title, delegation = "functions", find_delegation(process or "self")
    if isinstance(delegation, str):
        return Finding(title, Level.OK, f"bounded by limits of each process: {delegation}")
    controllers = ", ".join(sorted(delegation.controllers))
    return Finding(title, Level.OK, f"bounded by control groups ({controllers}) below {delegation.folder}")


def look_at_ports(settings: Settings) -> list[Finding]:
    """Tell which ports a start would find taken."""
    wanted = [
        ("API", settings.gateway.host, settings.api.port, "--port"),
        *([] if settings.db.url else [("Postgres", LOOPBACK, settings.db.port, "--db-port")]),
        *([] if settings.broker.url else [("NATS", LOOPBACK, settings.broker.port, "--nats-port")]),
    ]
    return [_port(*each) for each in wanted]


def _port(label: str, host: str, port: int, option: str) -> Finding:
    title = f"port of {label}"
    try:
        free = is_free(host, port)
    except SupervisorError as error:
        return Finding(title, Level.ERROR, str(error))
    if free:
        return Finding(title, Level.OK, f"{port} is free")
    return Finding(
        title,
        Level.ERROR,
        f"{port} is in use by another program",
        f"Stop that program (`ss -ltnp 'sport = :{port}'` names it), or choose another port with {option}.",
    )


def look_at_folder(folder: DataFolder, server_major: str) -> Finding:
    """Tell whether the data folder is ours, and of a version that can be served."""
    title, path = "data folder", folder.path
    if not path.exists():
        return Finding(title, Level.OK, f"{path} will be made by the first start")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            title,
            Level.ERROR,
            f"{path} cannot be written by user {os.geteuid()}",
            "Start as its owner, or name another folder with --data.",
        )
    found = _cluster_major(folder)
    if found is None:
        if any(path.iterdir()) and not folder.ports.exists():
            return Finding(
                title,
                Level.ERROR,
                f"{path} has files that are not of a platform",
                "Name another folder with --data.",
            )
        return Finding(title, Level.OK, f"{path}{', in use' if is_locked(folder.lock) else ''}")
    if found != server_major:
        return Finding(
            title,
            Level.ERROR,
            f"the database in {path} is of Postgres {found}, the server here is {server_major}",
            f"Install the headwater that has Postgres {found}, make a backup (`headwater backup`), and restore it here.",
        )
    return Finding(title, Level.OK, f"{path}, Postgres {found}{', in use' if is_locked(folder.lock) else ''}")


def _cluster_major(folder: DataFolder) -> str | None:
    home = folder.postgres
    try:
        if folder.cluster_pointer.exists():
            home = Path(folder.cluster_pointer.read_text().strip())
        return (home / "data" / "PG_VERSION").read_text().strip()
    except OSError:
        return None
