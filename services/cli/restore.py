"""`headwater restore`: a backup into a running platform, or a moment of continuous backup into a new data folder."""

import http.client
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import click

from schemas.recovery import RecoveryPlan
from services.cli.backup import named_project, platform_environment, run_worker_command
from services.cli.options import platform_options, refuse, running_platform
from services.cli.output import Terminal
from services.supervisor.addresses import gateway_url
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.data_folder.switch import switch_folders
from services.supervisor.errors import SupervisorError
from services.supervisor.ports import Ports
from services.supervisor.project.settings import Project
from services.supervisor.project.work import project_of_state
from services.supervisor.recovery import (
    Recovered,
    combining_program,
    fetch_files,
    plan_moment,
    recover,
    recovery_settings,
)

_READY_S, _PAUSE_S = 60.0, 0.1
_FOLDER = click.Path(file_okay=False, path_type=Path)
_MOST_MISSING = 5
_OUTSIDE = """\
The platform of {data} uses an outside database (db.url), so a data folder in its place would not be used. Either bring the moment's project into that
database, which the platform uses on meanwhile (administrators and their passwords are not in a backup):

  headwater restore --to "{moment}" --into {target}
  HEADWATER_DB_URL= headwater start --detach --data {target} --port 0
  HEADWATER_DB_URL= headwater backup --data {target} {target}-backup
  HEADWATER_DB_URL= headwater stop --data {target}
  headwater restore --force {target}-backup

or write its files with --files-only --into DIR, and start a server of Postgres on them in the place of yours."""


@click.command()
@platform_options
@click.argument("folder", type=_FOLDER, required=False)
@click.option("--force", is_flag=True, help="Replace what the platform has. All of it is lost.")
@click.option("--to", "moment", metavar="MOMENT", help="Restore this moment of continuous backup.")
@click.option(
    "--into",
    type=_FOLDER,
    metavar="DIR",
    help="With --to: the new data folder.  [default: beside the one in use]",
)
@click.option(
    "--archive", default="", metavar="ID", help="With --to: the archive, where several have the moment."
)
@click.option("--dry-run", is_flag=True, help="With --to: only show what it would give.")
@click.option("--switch", is_flag=True, help="Stop the platform and give it the restored data folder; the old one is kept beside it.")  # fmt: skip
@click.option("--files-only", is_flag=True, help="With --to: write a data folder of Postgres, for an outside server.")  # fmt: skip
def restore(
    data: Path | None, project: Path | None, folder: Path | None, force: bool, moment: str | None, into: Path | None,
    archive: str, dry_run: bool, switch: bool, files_only: bool,
) -> None:  # fmt: skip
    """Bring back a backup, or a moment.

    FOLDER is a backup that `headwater backup FOLDER` made: a running platform is brought to its state. The platform should
    be a new one; one that has tables, users or objects is refused without --force. It answers from its old database until
    the new one is whole, and 503 for the moment in which both are exchanged. If the restore fails or is killed, the
    database is as it was; the same command again goes on. With an outside database, its URL must be that of a superuser.
    Tokens and stored keys of the backup hold only with the JWT secret that it was made under.

    \b
    headwater start --detach --data new && headwater restore --data new backups/2026-01-31

    --to restores a moment of continuous backup into a new data folder; the platform may run meanwhile, and nothing of it is
    changed. --switch then stops it and puts the new folder in its place. MOMENT is a time ("2026-11-22 10:15", UTC unless
    it has a zone), "2 hours ago", "before the last hour", "before migration 20261122101500", "before transaction 7312",
    "transaction 7312", "lsn 0/3000148" or "latest".

    \b
    headwater restore --to "before the last hour" --dry-run
    headwater restore --to "before the last hour" --switch

    \b
    Exit codes: 0 restored, 1 it failed, or nothing runs; 2 refused: a damaged backup, a moment that is not there,
                or a platform with something in it
    """
    if moment is not None and folder is not None:
        raise click.UsageError("FOLDER and --to exclude one another.")
    if moment is not None:
        sys.exit(_restore_moment(data, project, moment, into, archive, dry_run, switch, files_only))
    if switch and into is not None:
        sys.exit(_switch(named_project(data, project), into))
    if folder is None:
        raise click.UsageError("Name the FOLDER of a backup, or a moment with --to.")
    environment = platform_environment(data, project)
    code = run_worker_command("restore", folder, environment, *(["--force"] if force else []))
    if code == 0 and not _is_ready(*running_platform(data, project)):
        click.secho(
            f"Restored, and not everything answers after {_READY_S:.0f} s: `headwater doctor` tells more.",
            fg="yellow",
            err=True,
        )
    sys.exit(code)


def _restore_moment(
    data: Path | None, project: Path | None, moment: str, into: Path | None, archive: str, dry_run: bool,
    switch: bool, files_only: bool,
) -> int:  # fmt: skip
    named = named_project(data, project)
    target = into.absolute() if into else _beside(named.data)
    if switch:
        _refuse_switch_outside(named, moment, target)
    try:
        plan = plan_moment(named, moment, archive)
        _show_plan(plan, target)
        combining_program(plan)  # a dry run fails where the restore would
        if dry_run:
            return 0
        if files_only:
            return _write_files(named, plan, target)
        began = time.monotonic()
        recovered = recover(named, plan, target, Terminal(detached=False))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    _show_result(recovered, time.monotonic() - began)
    if switch:
        return _switch(named, target)
    if named.settings.db.url:
        click.echo(
            f"Try it: `HEADWATER_DB_URL= headwater start --data {target} --port 0`; its database is an embedded copy. To bring it into the outside "
            'database: docs/backups.md, "An outside Postgres".'
        )
        return 0
    click.echo(
        f"Try it: `headwater start --data {target} --port 0`. Put it in place: `headwater restore --switch --into {target}`."
    )
    return 0


def _show_plan(plan: RecoveryPlan, target: Path) -> None:
    lines = {
        "moment": plan.target,
        "from": f"base backup of {_moment(plan.base_at)}, {plan.base_bytes:,} bytes"
        + (f" (a full one and {plan.bases - 1} incremental)" if plan.bases > 1 else ""),
        "log": f"{plan.wal_bytes:,} bytes in {plan.pieces} pieces",
        "archive": f"{plan.archive}, which has {_moment(plan.first)} to {_moment(plan.last)}",
        "objects": f"{plan.objects} copies in the archive",
        "disk": f"{plan.disk_bytes:,} bytes in {target}",
    }
    if plan.migrations_after:
        lines["without"] = f"the migrations {', '.join(plan.migrations_after)}, which were applied later"
    for name, text in lines.items():
        click.echo(f"{name:>10}  {text}")


def _show_result(recovered: Recovered, seconds: float) -> None:
    facts = recovered.facts
    click.secho(
        f"Restored in {seconds:.1f} s into {recovered.folder.path}: {facts.tables} tables in public, {facts.users} users, {facts.objects} "
        f"objects ({facts.written} from the archive).",
        fg="green",
    )
    if recovered.is_end_of_log:
        click.echo("Nothing was committed between the end of the log and the moment.")
    if facts.missing:
        names = ", ".join(facts.missing[:_MOST_MISSING])
        click.secho(
            f"{len(facts.missing)} objects have no bytes, neither in the store nor in the archive: {names}",
            fg="yellow",
            err=True,
        )


def _write_files(project: Project, plan: RecoveryPlan, target: Path) -> int:
    """Write a data folder of Postgres that recovers to the moment when a server is started on it."""
    if target.exists() and any(target.iterdir()):
        refuse(f"{target} is not empty. Name a new folder with --into.", code=2)
    try:
        fetch_files(project, plan, target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)  # or the same command would be refused
        raise
    settings = {name: value for name, value in recovery_settings(plan).items() if name != "hot_standby"}
    with (target / "postgresql.auto.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    (target / "recovery.signal").touch()
    click.secho(
        f"Written: {target}. Give it to the server's user and start Postgres {plan.server_version // 10000} on it (it replays the log and "
        f"becomes a primary); then remove the lines with `recovery_` and `restore_command` from postgresql.auto.conf.",
        fg="green",
    )
    return 0


def _refuse_switch_outside(project: Project, moment: str, target: Path) -> None:
    """Exit with the commands that bring a moment into an outside database, if the project uses one."""
    if project.settings.db.url:
        refuse(_OUTSIDE.format(data=project.data, moment=moment, target=target), code=2)


def _switch(project: Project, target: Path) -> int:
    """Stop the platform, exchange the data folders, and start it again if it ran."""
    _refuse_switch_outside(project, "...", target)
    used, restored = DataFolder(project.data), DataFolder(target.absolute())
    runs = running_state(used) is not None
    if runs and _headwater("stop", "--data", str(used.path)) != 0:
        return 1
    try:
        kept = switch_folders(used, restored, time.time())
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.secho(
        f"{used.path} is now what was restored{f'; what it was before is in {kept}' if kept else ''}.",
        fg="green",
    )
    if not runs:
        return 0
    config = ["--config", str(project.config)] if project.config else []
    return _headwater("start", "--detach", "--data", str(used.path), "--project", str(project.root), *config)


def _headwater(*words: str) -> int:
    return subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "services.cli.main", *words], check=False
    ).returncode


def _beside(data: Path) -> Path:
    return data.with_name(f"{data.name}-restored-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_ready(folder: DataFolder, state: PlatformState) -> bool:
    """Wait until the gateway, if one runs here, reports that all pools use the new database."""
    ports = Ports(**state.ports)
    if not ports.api:
        return True
    url = f"{gateway_url(project_of_state(state).settings, ports)}/health/ready"
    # The certificate is for the public name, not for this address of our own (`gateway.host`); no secret is sent.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323 - see above
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5, context=context):  # noqa: S310 - our own address
                return True
        except (OSError, http.client.HTTPException):
            time.sleep(_PAUSE_S)
    return False
