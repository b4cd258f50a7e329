"""Bring an embedded database to another major version: dump by the new tools, restore into a new cluster, compare, switch.

old programs serve postgres/data on a port of their own      new programs serve postgres/upgrading/data
roles, then each database by copy.py  --------------------------->
content.sql on both: counts of objects and rows, sequences: equal, or nothing is changed
switch.py: the new folder becomes postgres/data, the old one stays beside it
"""

import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from itertools import zip_longest
from pathlib import Path

from services.supervisor.archive import server_settings
from services.supervisor.binaries import find_postgres, reachable_postgres
from services.supervisor.data_folder.folder import DataFolder, ensure_passwords
from services.supervisor.errors import StartFailed, StartRefused
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import (
    DATABASE,
    SUPERUSER,
    Cluster,
    create_inner_folders,
    reset_password,
)
from services.supervisor.postgres.major_upgrade.copy import copy_database
from services.supervisor.postgres.major_upgrade.switch import (
    DRAFT,
    SwitchPlan,
    begin_switch,
    finish_switch,
    remove_copy,
)
from services.supervisor.postgres.major_upgrade.tools import ServerTools, connection_string
from services.supervisor.postgres.programs import check_programs, major_version
from services.supervisor.postgres.running_server import running_server
from services.supervisor.postgres.system_user import ServerUser
from services.supervisor.processes.leftovers import stop_stray_server
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter

_STOP_S = 600.0
_SUPERUSER_PASSWORD = "database"  # noqa: S105 - a name in passwords.json
_COPYING = {"synchronous_commit": "off", "summarize_wal": "off", "max_wal_size": "4GB"}
_DATABASES = (
    'select datname from pg_database where datallowconn and not datistemplate order by datname collate "C";'
)
_CLOSED = "select datname from pg_database where not datallowconn and not datistemplate order by datname;"
_TABLESPACES = "select spcname from pg_tablespace where spcname !~ '^pg_';"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A database that was brought to another version; `lines` are the facts that were compared, `kept` the old folder."""

    old: int
    new: int
    databases: tuple[str, ...]
    lines: int
    kept: Path
    seconds: float


def upgrade_database(
    project: Project, folder: DataFolder, source: str, target: str, report: Reporter
) -> Upgraded:
    """Bring the database of a stopped platform, whose folder the caller has locked, to the version of other programs.

    `source`: folder of the programs that made it (empty: those that it runs with). `target`: folder of the new programs (empty: those of
    the wheel). Raises: StartRefused, StartFailed; the old database is unchanged then.
    """
    began = time.monotonic()
    finish_switch(folder, report)
    present = server.open_cluster(folder, report)
    if not present.exists:
        raise StartRefused(
            f"There is no embedded database in {folder.path}. Name its data folder with --data."
        )
    stop_stray_server(present, report)
    old = Cluster(present.home, _old_programs(present, source), present.user)
    new = _new_programs(present.user, target, report)
    versions = _versions(old, new)
    _check_room(old)
    password = ensure_passwords(folder, [_SUPERUSER_PASSWORD])[0][_SUPERUSER_PASSWORD]
    draft = Cluster(present.home / DRAFT, new, present.user)
    try:
        databases, lines = _copy(project, old, draft, password, report)
        kept = f"data-postgres-{versions[0]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    except BaseException:
        remove_copy(present.home, report)
        raise
    begin_switch(folder, present.home, SwitchPlan(kept, str(new) if target else ""), report)
    return Upgraded(*versions, databases, lines, present.home / kept, time.monotonic() - began)


def _copy(
    project: Project, old: Cluster, draft: Cluster, password: str, report: Reporter
) -> tuple[tuple[str, ...], int]:
    """Copy all databases into the draft and compare; return their names and the number of compared lines. Raises: SupervisorError."""
    create_inner_folders(draft)
    server.prepare_cluster(draft, None, password, server_settings(project.settings) | _COPYING, report)
    own = old.data / "postgresql.auto.conf"
    if own.exists():  # what `alter system` has set
        (draft.data / own.name).write_bytes(own.read_bytes())
    reset_password(old, password)
    tools = draft.programs if (draft.programs / "pg_dumpall").exists() else find_postgres()
    with (
        running_server(old, "The old server", timeout_s=None, stop_s=_STOP_S) as old_port,
        running_server(draft, "The new server", timeout_s=None, stop_s=_STOP_S) as new_port,
    ):
        before, after = ServerTools(tools, old_port, password), ServerTools(tools, new_port, password)
        check_copyable(before)
        report.info("Copying roles")
        after.run_sql(_roles(before), DATABASE)
        databases = tuple(before.run_sql(_DATABASES, DATABASE))
        for name in databases:
            report.info(f"Copying database {name}")
            copy_database(before, after, name, draft.home)
        report.info("Comparing both")
        lines = sum(_compare(before, after, name) for name in databases)
        report.info("Collecting statistics for the planner")
        after.output("vacuumdb", "--all", "--analyze-only", "--quiet")
    return databases, lines


def check_copyable(before: ServerTools) -> None:
    """See that the command brings over all that a server has. Raises: StartRefused."""
    if spaces := before.run_sql(_TABLESPACES, DATABASE):
        raise StartRefused(
            f"The database has tablespaces ({', '.join(spaces)}), which this command does not move. Move their tables back first."
        )
    if closed := before.run_sql(_CLOSED, DATABASE):
        raise StartRefused(
            f"These databases of the server allow no connections, so they cannot be copied: {', '.join(closed)}. Drop them, or open "
            "each by `alter database NAME allow_connections true`."
        )


def _roles(before: ServerTools) -> str:
    """Return the SQL of roles with their verifiers, without the superuser's creation, whom `initdb` has created."""
    created = (f"CREATE ROLE {SUPERUSER};", f'CREATE ROLE "{SUPERUSER}";')
    lines = before.output("pg_dumpall", "--globals-only").splitlines()
    return "\n".join(line for line in lines if line not in created) + "\n"


def _compare(before: ServerTools, after: ServerTools, database: str) -> int:
    """Return how many facts of a database are equal in both. Raises: StartFailed if one is not."""
    text = resources.files(__package__).joinpath("content.sql").read_text(encoding="utf-8")
    name = connection_string(database)
    old, new = before.run_sql(text, name), after.run_sql(text, name)
    if old != new:
        differing = [f"{a} (new: {b})" for a, b in zip_longest(old, new, fillvalue="nothing") if a != b]
        raise StartFailed(
            f"The copy of database {database} differs from it, so nothing was changed: {'; '.join(differing[:_SHOWN])}"
        )
    return len(old)


def _old_programs(present: Cluster, source: str) -> Path:
    """Return the programs of the version that made the database. Raises: StartRefused."""
    made_by = int((present.data / "PG_VERSION").read_text().strip())
    programs = check_programs(source, "--from") if source else present.programs
    if major_version(programs) != made_by:
        raise StartRefused(
            f"The database was made by Postgres {made_by}, and {programs} is Postgres {major_version(programs)}. Name the folder of the "
            f"programs of Postgres {made_by} with --from, such as /usr/lib/postgresql/{made_by}/bin."
        )
    return programs


def _new_programs(user: ServerUser | None, target: str, report: Reporter) -> Path:
    return check_programs(target, "--to") if target else reachable_postgres(user, report.info)


def _versions(old: Cluster, new: Path) -> tuple[int, int]:
    before, after = major_version(old.programs), major_version(new)
    if after <= before:
        raise StartRefused(
            f"The database is of Postgres {before}, and {new} is Postgres {after}: there is nothing to upgrade."
        )
    return before, after


def _check_room(old: Cluster) -> None:
    needed = sum(
        path.stat().st_size for path in old.data.rglob("*") if path.is_file() and not path.is_symlink()
    )
    free = shutil.disk_usage(old.home).free
    if free < needed:
        raise StartRefused(
            f"The copy needs up to {needed >> 20} MB, and {free >> 20} MB are free at {old.home}. Free some first."
        )
