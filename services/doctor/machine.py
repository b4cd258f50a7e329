"""Checks of the machine and the settings: disk, clock, ports, the data folder, published keys."""

import os
import shutil
import time
from pathlib import Path

from broker.blobs.folder import folder_size, staging_folder, store_folder
from broker.blobs.short_log_notes import read_notes
from broker.blobs.short_log_segment import FOLDER as LOG_FOLDER
from broker.processes.confinement import (
    NO_CONFINEMENT,
    NO_CONFINEMENT_ADVICE,
    can_confine_functions,
    has_function_users,
    landlock_abi,
)
from broker.processes.control_groups import find_delegation
from schemas.database_logins import password_variables, sharing_logins
from schemas.settings.tree import Settings
from services.doctor.finding import DoctorFinding, FindingLevel
from services.supervisor.data_folder.folder import OF_A_DISK, DataFolder, is_data_folder, is_locked
from services.supervisor.errors import SupervisorError
from services.supervisor.exposure import development_secrets, is_loopback
from services.supervisor.port_holder import port_holder
from services.supervisor.ports import LOOPBACK, is_free

_MIB = 1024 * 1024
_LEAST_FREE, _SCARCE_FREE = 512 * _MIB, 4096 * _MIB
_MUCH_STAGED = 0.8
_NAMES_SHOWN = 10
_BUILT = 1735689600.0
"""2025-01-01: a correct clock never shows an earlier time."""


def look_at_logins(settings: Settings) -> list[DoctorFinding]:
    """Return which logins of an external database share a password. Those of the embedded one are random."""
    if settings.db.url is None or not (shared := sharing_logins(settings)):
        return []
    names = password_variables(settings)
    return [
        DoctorFinding(
            "logins",
            FindingLevel.WARNING,
            f"{', '.join(shared)} have the password of another login of the database: whoever knows one opens them all",
            f"Set {', '.join(names[role] for role in shared)}, a random one each, and migrate "
            "(`headwater keys files` makes those of many machines).",
        )
    ]


def look_at_sealing_key(settings: Settings) -> list[DoctorFinding]:
    """Return whether what an external database stores is encrypted with keys of the JWT secret. The embedded one has a key file."""
    if settings.db.url is None or settings.auth.sealing_key is not None:
        return []
    return [
        DoctorFinding(
            "sealing key",
            FindingLevel.WARNING,
            "stored settings, second factors and other secrets are encrypted with keys of auth.jwt_secret: whoever knows it reads them, "
            "and they are lost when it is exchanged",
            "Set HEADWATER_AUTH_SEALING_KEY, the same random text of 32 characters or more for all processes, and migrate "
            "(`headwater keys files` makes it for many machines).",
        )
    ]


def look_at_disk(path: Path) -> DoctorFinding:
    """Check the free space for the database and its log."""
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    usage = shutil.disk_usage(existing)
    text = f"{usage.free // _MIB:,} MiB of {usage.total // _MIB:,} MiB are free at {existing}"
    cure = "Free some room, or move the data folder to a larger disk: a full disk stops the database."
    if usage.free < _LEAST_FREE:
        return DoctorFinding("disk", FindingLevel.ERROR, text, cure)
    return DoctorFinding(
        "disk",
        FindingLevel.WARNING if usage.free < _SCARCE_FREE else FindingLevel.OK,
        text,
        cure if usage.free < _SCARCE_FREE else "",
    )


def look_at_staging(settings: Settings, data: Path) -> list[DoctorFinding]:
    """Compare the space of unfinished uploads with its limit."""
    storage, title = settings.storage, "uploads"
    if not storage.enabled or storage.backend != "file":
        return []
    size = folder_size(staging_folder(storage, data))
    text = f"{size // _MIB:,} MiB are being written, or were left by uploads that broke off"
    if not storage.staging_limit:
        return [DoctorFinding(title, FindingLevel.OK, text)]
    text += f"; at most {storage.staging_limit // _MIB:,} MiB may be"
    if size < storage.staging_limit * _MUCH_STAGED:
        return [DoctorFinding(title, FindingLevel.OK, text)]
    cure = (
        f"What broke off is removed {storage.staging_expiry:.0f} s after its last byte (`storage.staging_expiry`) by a running "
        "platform; if so many uploads are meant to go on at once, raise storage.staging_limit: beyond it they get 507."
    )
    return [DoctorFinding(title, FindingLevel.WARNING, text, cure)]


def look_at_short_log(settings: Settings, data: Path) -> list[DoctorFinding]:
    """Return what replays of the log of short blobs found missing: by notes that stay until they are deleted."""
    storage, title = settings.storage, "short uploads"
    if not storage.enabled or storage.backend != "file":
        return []
    folder = store_folder(storage, data) / LOG_FOLDER
    findings = []
    for note in read_notes(folder):
        if not (note.absent or note.damaged or note.lost_count):
            continue
        day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(note.until))
        text = f"replayed {day}: {note.absent:,} acknowledged records are missing, {note.damaged:,} bytes are damaged"
        cure = f"The disk lost what it had confirmed: look at it and at its cache. Then delete {folder / note.log}.note."
        if note.lost_count:
            names = ", ".join(note.lost[:_NAMES_SHOWN])
            text += f"; {note.lost_count:,} objects have lost their bytes: {names}"
            if note.lost_count > _NAMES_SHOWN:
                text += f", and more in {folder / note.log}.note"
            cure = f"Upload them again, or bring them back from a backup. {cure}"
        elif note.is_compared:
            text += "; the objects of that time are whole"
        else:
            text += "; the objects of that time are compared when the platform runs"
        level = FindingLevel.ERROR if note.lost_count else FindingLevel.WARNING
        findings.append(DoctorFinding(title, level, text, cure))
    return findings


def look_at_clock(now: float | None = None, server: float | None = None) -> DoctorFinding:
    """Check the clock: the expiry of tokens, codes and certificates depends on it."""
    now = time.time() if now is None else now
    cure = "Set the clock by NTP (`timedatectl set-ntp true`): tokens are refused where clocks differ."
    if now < _BUILT:
        return DoctorFinding(
            "clock", FindingLevel.ERROR, f"it is {time.strftime('%Y-%m-%d', time.gmtime(now))} here", cure
        )
    if server is not None and abs(now - server) > 5:
        return DoctorFinding(
            "clock", FindingLevel.ERROR, f"it differs from the database's by {now - server:+.0f} s", cure
        )
    return DoctorFinding("clock", FindingLevel.OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def look_at_keys(settings: Settings) -> DoctorFinding:
    """Check whether published keys protect a gateway that other machines can reach."""
    published = development_secrets(settings)
    if not published:
        return DoctorFinding("keys", FindingLevel.OK, "all are your own")
    if is_loopback(settings.gateway.host):
        return DoctorFinding(
            "keys", FindingLevel.OK, "the published development keys, on this machine's own address"
        )
    return DoctorFinding(
        "keys",
        FindingLevel.ERROR,
        f"{settings.gateway.host} can be reached from outside, and {', '.join(published)} have their published values",
        "Make random ones: `headwater keys >> .env`, then restart.",
    )


def look_at_functions(settings: Settings, process: int | None = None) -> list[DoctorFinding]:
    """Return what isolates functions from the platform's own files, in addition to the permissions of their runtime.

    `process` is the running platform's: its control group counts, not the one of this shell.
    """
    runtime, title = settings.edge_runtime, "functions"
    if not runtime.enabled:
        return []
    if not can_confine_functions():
        level = FindingLevel.WARNING if runtime.unsafe_without_sandbox else FindingLevel.ERROR
        return [DoctorFinding(title, level, NO_CONFINEMENT, NO_CONFINEMENT_ADVICE)]
    abi = landlock_abi()
    barriers = [f"Landlock (ABI {abi})"] if abi else []
    if os.geteuid() == 0:
        barriers.append("users of their own" if has_function_users() else "a user of their own")
    findings = [DoctorFinding(title, FindingLevel.OK, f"held by {' and '.join(barriers)}")]
    if not abi:
        cure = "Use a kernel with Landlock (Linux 5.13 or later, `lsm=landlock,...`): functions of one user are not kept apart."
        findings = [DoctorFinding(title, FindingLevel.WARNING, f"held by {barriers[0]} alone", cure)]
    return [*findings, _limits_of_functions(process)]


def _limits_of_functions(process: int | None) -> DoctorFinding:
    """Return what limits functions' memory: in the running platform, else in one that this shell would start."""
    title, delegation = "functions", find_delegation(process or "self")
    if isinstance(delegation, str):
        return DoctorFinding(title, FindingLevel.OK, f"bounded by limits of each process: {delegation}")
    controllers = ", ".join(sorted(delegation.controllers))
    return DoctorFinding(
        title, FindingLevel.OK, f"bounded by control groups ({controllers}) below {delegation.folder}"
    )


def look_at_ports(settings: Settings) -> list[DoctorFinding]:
    """Return which ports a start would need, and whether they are free."""
    needed = [
        ("API", settings.gateway.host, settings.api.port, "--port"),
        *([] if settings.db.url else [("Postgres", LOOPBACK, settings.db.port, "--db-port")]),
        *([] if settings.broker.url else [("NATS", LOOPBACK, settings.broker.port, "--nats-port")]),
    ]
    return [_port(*port) for port in needed]


def _port(label: str, host: str, port: int, option: str) -> DoctorFinding:
    title = f"port of {label}"
    try:
        free = is_free(host, port)
    except SupervisorError as error:
        return DoctorFinding(title, FindingLevel.ERROR, str(error))
    if free:
        return DoctorFinding(title, FindingLevel.OK, f"{port} is free")
    return DoctorFinding(
        title,
        FindingLevel.ERROR,
        f"{port} is in use by {port_holder(port)}",
        f"Stop that program, or choose another port with {option}.",
    )


def look_at_folder(folder: DataFolder, server_major: str) -> DoctorFinding:
    """Check that the data folder belongs to a platform, and to a Postgres version that can be served."""
    title, path = "data folder", folder.path
    if not path.exists():
        return DoctorFinding(title, FindingLevel.OK, f"{path} will be made by the first start")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return DoctorFinding(
            title,
            FindingLevel.ERROR,
            f"{path} cannot be written by user {os.geteuid()}",
            "Start as its owner, or name another folder with --data.",
        )
    major = _cluster_major(folder)
    if major is None:
        if not is_data_folder(path) and any(entry.name != OF_A_DISK for entry in path.iterdir()):
            return DoctorFinding(
                title,
                FindingLevel.ERROR,
                f"{path} has files that are not of a platform",
                "Name another folder with --data.",
            )
        return DoctorFinding(title, FindingLevel.OK, f"{path}{', in use' if is_locked(folder.lock) else ''}")
    if major != server_major:
        return DoctorFinding(
            title,
            FindingLevel.ERROR,
            f"the database in {path} is of Postgres {major}, the server here is {server_major}",
            f"Install the headwater that has Postgres {major}, make a backup (`headwater backup`), and restore it here.",
        )
    return DoctorFinding(
        title, FindingLevel.OK, f"{path}, Postgres {major}{', in use' if is_locked(folder.lock) else ''}"
    )


def _cluster_major(folder: DataFolder) -> str | None:
    home = folder.postgres
    try:
        if folder.cluster_pointer.exists():
            home = Path(folder.cluster_pointer.read_text().strip())
        return (home / "data" / "PG_VERSION").read_text().strip()
    except OSError:
        return None
