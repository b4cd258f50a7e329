"""The system user of the database server. Postgres refuses to run as root, so root runs it as another user.

The user is `headwater`, created when it is missing; where that fails, `nobody`. An existing database keeps its owner.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from services.supervisor.errors import StartFailed

NAME = "headwater"
_MAKERS = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false", NAME),
    ("adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/bin/false", NAME),
)  # fmt: skip


class RunAs(TypedDict, total=False):
    """Arguments of `subprocess` that change the user of a child."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class ServerUser:
    """A user that a child runs as."""

    name: str
    uid: int
    gid: int

    def run_as(self) -> RunAs:
        """Return the arguments of `subprocess` that make a child run as this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def run_as(user: ServerUser | None) -> RunAs:
    """Return the arguments of `subprocess` for a user; None changes nothing."""
    return user.run_as() if user else {}


def server_user(info: Callable[[str], None], *, owner_uid: int | None = None) -> ServerUser | None:
    """Return the user that the database server runs as; None when we are not root and it runs as the current user.

    `owner_uid` is the owner of an existing database. Raises: StartFailed if no user is available.
    """
    if os.geteuid() != 0:
        return None
    if owner_uid:
        return _by_uid(owner_uid)
    user = _by_name(NAME) or _create_user(info) or _by_name("nobody")
    if user is None or user.uid == 0:
        raise StartFailed(
            "Postgres does not run as root and no system user could be made for it. "
            f"Make one (`useradd --system {NAME}`), start headwater as another user, or use --database-url."
        )
    if user.name != NAME:
        info(f"Postgres runs as user {user.name}: no user {NAME} could be made")
    return user


def may_reach(user: ServerUser | None, path: Path, *, mode: int = os.X_OK) -> bool:
    """Return whether a user can pass to a file or folder; a forked child tries it as that user."""
    if user is None:
        return os.access(path, mode)
    child = os.fork()
    if child == 0:  # Danger: system calls only, because the child is a copy of this process
        status = 1
        try:
            os.setgroups([])
            os.setgid(user.gid)
            os.setuid(user.uid)
            status = 0 if os.access(path, mode) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _create_user(info: Callable[[str], None]) -> ServerUser | None:
    for command in _MAKERS:
        program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if program is None:
            continue
        result = subprocess.run([program, *command[1:]], capture_output=True, check=False)  # noqa: S603 - fixed commands
        if result.returncode == 0 and (user := _by_name(NAME)):
            info(f"Made the system user {NAME} for the database server")
            return user
    return _by_name(NAME)


def _by_name(name: str) -> ServerUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return ServerUser(name, entry.pw_uid, entry.pw_gid)


def _by_uid(uid: int) -> ServerUser:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise StartFailed(
            f"The database belongs to user number {uid}, which this machine does not know. "
            f"Give its folder to another user (`chown -R {NAME}`) or make that user."
        ) from None
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid)
