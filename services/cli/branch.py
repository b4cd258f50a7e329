"""`headwater branch`: copies of a platform with their own database, files, address and keys."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from schemas.branches import AccessBetweenTask, ListedBranch, SchemaComparison
from schemas.settings.types import Duration
from services.cli.access import ALARM, access_options
from services.cli.admin import operate
from services.cli.after_reset import StderrReporter
from services.cli.backup import named_project
from services.cli.options import data_folder, parent_options, refuse
from services.cli.output import Terminal
from services.supervisor.branches.choice import ChosenBranch
from services.supervisor.branches.create import CreatedBranch, create_branch
from services.supervisor.branches.drafts import remove_drafts
from services.supervisor.branches.listing import disk_use, find_branch, list_branches
from services.supervisor.branches.merge import compare_access, compare_with_parent, merge_into_parent
from services.supervisor.branches.names import branch_folder
from services.supervisor.branches.record import BranchRecordDamaged
from services.supervisor.branches.removal import remove_branch, remove_expired
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.report import Reporter

_MIB = 1024 * 1024


class _Time(click.ParamType):  # type: ignore[type-arg]  # generic in the stubs alone
    """A time: a duration of the settings, or whole days (`2d`)."""

    name = "time"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        """Return it in seconds."""
        text = str(value)
        try:
            days = text.removesuffix("d")
            return float(Duration(f"{int(days) * 24}h" if days != text else text))
        except ValueError:
            self.fail(f"{text!r} is no time: 30m, 2h or 2d", parameter, context)


TIME = _Time()


@click.group()
def branch() -> None:
    """Copies of a platform: database, files, settings and functions, with an address and keys of their own.

    \b
    headwater branch create try-this
    headwater start --branch try-this --detach
    headwater status --branch try-this

    A branch sends no mail, no messages, no webhooks and runs no schedules of the platform (docs/branches.md).
    """


@branch.command()
@parent_options
@click.argument("name")
@click.option("--config", type=click.Path(path_type=Path), envvar="HEADWATER_CONFIG", metavar="FILE", help="Config file of a platform that is stopped.")  # fmt: skip
@click.option("--at", "moment", default="", metavar="MOMENT", help="The database of a past moment, from continuous backup.")  # fmt: skip
@click.option("--archive", default="", metavar="ID", help="With --at: the archive, where several have the moment.")  # fmt: skip
@click.option("--stop-after", type=TIME, metavar="TIME", help="Stop it after this time without use: 30m, 2h, 1d; 0 never.  [default: branches.stop_after]")  # fmt: skip
@click.option("--remove-after", type=TIME, metavar="TIME", help="Remove it after this time: 2d; 0 never.  [default: branches.remove_after]")  # fmt: skip
@click.option("--keep-accounts", is_flag=True, help="Do not mask accounts where columns are masked; noted in the audit log.")  # fmt: skip
def create(
    data: Path | None,
    project: Path | None,
    name: str,
    config: Path | None,
    moment: str,
    archive: str,
    stop_after: float | None,
    remove_after: float | None,
    keep_accounts: bool,
) -> None:
    """Copy the platform, running or stopped, into the branch NAME.

    With --at the branch has the database, objects and deployed functions of a past moment, in the words of `headwater restore --to`:

    \b
    headwater branch create yesterday --at "2 hours ago"
    headwater branch create broken --at "before migration 20261122101500"

    Columns that [branches.mask] of config.toml names are masked before the branch can be started, and with them accounts (docs/branches.md).

    \b
    Exit codes: 0 created, 1 it failed, 2 refused: the branch exists, the platform cannot be branched, or a rule of masking is wrong
    """
    if archive and not moment:
        raise click.UsageError("--archive names where the moment of --at is: name a moment too.")
    if keep_accounts:  # first: what was not noted is not done
        operate(data, project, "branches.keep_accounts", name=name)
    try:
        created = _create(
            DataFolder(data_folder(data, project).path),
            name,
            data,
            project,
            config,
            "",
            Terminal(detached=False),
            moment,
            archive,
            keep_accounts,
            stop_after,
            remove_after,
        )
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(f"Start it: `headwater start --branch {created.record.name}`")


@branch.command("list")
@parent_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, form: str) -> None:
    """List the branches."""
    parent = data_folder(data, project)
    try:
        remove_drafts(parent, StderrReporter())
        remove_expired(parent, StderrReporter(), time.time())
        branches = list_branches(parent)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(branches), indent=2).decode())
        return
    for listed in branches:
        state = listed.api_url or ("running" if listed.is_running else "stopped")
        size = f"{listed.own_bytes / _MIB:,.0f} MB, shares {listed.shared_bytes / _MIB:,.0f} MB"
        git = f"  for {listed.git}" if listed.git else ""
        past = f"  of {listed.at}" if listed.at else ""
        click.echo(
            f"{listed.name:<24} {_moment(listed.created_at)}  {size}  {state}{git}{past}{_limits(listed)}"
        )
    if not branches:
        click.echo("There are no branches. `headwater branch create NAME` makes one.")


@branch.command()
@parent_options
@click.argument("name")
@click.option("--access", is_flag=True, help="Instead: which rows, files, channels, functions and columns roles and users have more and fewer of in the branch.")  # fmt: skip
@access_options
@click.option("-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)  # fmt: skip
def diff(
    data: Path | None,
    project: Path | None,
    name: str,
    access: bool,
    users: tuple[str, ...],
    sample: int,
    channels: tuple[str, ...],
    timeout_s: float,
    form: str,
) -> None:
    """Show as SQL what a merge of NAME would change in the platform's schema.

    Compared are both with the schema of the moment in which the branch was made, or merged last. Rows are not compared.

    With --access the rows that both have are read as roles and users in both (docs/access.md).

    \b
    Exit codes: 0 compared, 1 both changed the same things, or it failed; 2 there is no such branch; 3 with --access: anon, or a user of another tenant, gains
    """
    parent = data_folder(data, project)
    try:
        folder = branch_folder(parent, name)
        find_branch(parent, folder)
        if access:
            options = AccessBetweenTask(
                "", "", list(users), sample, list(channels), timeout_s, "json" if form == "json" else "pretty"
            )
            report = compare_access(parent, folder, named_project(parent.path, project), options)
            click.echo(report.text)
            raise click.exceptions.Exit(ALARM if report.is_alarm else 0)
        compared = compare_with_parent(parent, folder, named_project(parent.path, project))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    if form == "json":
        click.echo(msgspec.json.encode(compared).decode())
    else:
        _show(compared)
    if compared.conflicts:
        raise click.exceptions.Exit(1)


@branch.command()
@parent_options
@click.argument("name")
@click.option("--as", "migration", metavar="TEXT", help="Name of the new migration.  [default: merge_NAME]")
@click.option("--yes", is_flag=True, help="Do not ask.")
def merge(data: Path | None, project: Path | None, name: str, migration: str | None, yes: bool) -> None:
    """Bring the changes of NAME's schema to the platform, as migrations of the project folder.

    The migrations that only the branch has are applied to the platform; their files are written if the folder lacks them. What the branch
    changed beside them becomes a new migration. All of it is tried on a server of its own first. Rows are not merged.

    \b
    Exit codes: 0 merged, or nothing was to merge; 1 it failed, or you said no; 2 refused: both changed the same things, no such branch
    """
    parent = data_folder(data, project)
    try:
        folder = branch_folder(parent, name)
        find_branch(parent, folder)
        parents_project = named_project(parent.path, project)
        compared = compare_with_parent(parent, folder, parents_project)
        _show(compared)
        if compared.conflicts:
            refuse("Make them equal in one of both, and merge again. Nothing was changed.", code=2)
        if not (compared.migrations or compared.statements):
            return
        if not yes and not click.confirm("Change the platform so?", err=True):
            refuse("Nothing was changed.", code=1)
        merged = merge_into_parent(
            parent, folder, parents_project, migration or f"merge_{name}", StderrReporter()
        )
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    for file in merged.fetched:
        click.echo(f"Wrote {file}, which only the branch had", err=True)
    for file in merged.applied:
        click.echo(f"Applied {file}{', which is new' if file == merged.written else ''}", err=True)
    click.secho(f"Merged the branch {name}.", fg="green", err=True)


def _show(compared: SchemaComparison) -> None:
    """Print the statements of a merge on standard output, the rest on standard error."""
    for statement in compared.statements:
        click.echo(f"{statement};\n")
    if compared.migrations:
        click.echo(f"Migrations that only the branch has: {', '.join(compared.migrations)}", err=True)
    for conflict in compared.conflicts:
        click.secho(f"Conflict: {conflict}", fg="yellow", err=True)
    if not (compared.statements or compared.migrations or compared.conflicts):
        click.echo("The branch changed nothing of the schema that the platform has not.", err=True)


@branch.command()
@parent_options
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(data: Path | None, project: Path | None, name: str, yes: bool) -> None:
    """Delete the branch NAME with all that only it has. It is stopped first.

    \b
    Exit codes: 0 deleted, 1 it could not be, or you said no; 2 there is no such branch
    """
    parent = data_folder(data, project)
    try:
        remove_drafts(parent, Terminal(detached=False))
        folder = branch_folder(parent, name)
        try:
            made = f" of {_moment(find_branch(parent, folder).created_at)}"
        except BranchRecordDamaged:
            made = ", whose record is damaged"
        own, _ = disk_use(folder)
        runs = " It is running, and is stopped." if running_state(folder) else ""
        click.echo(
            f"This deletes the branch {name}{made}: its database, its users, its files and its keys in {folder.path} "
            f"({own / _MIB:,.0f} MB). What it changed since then is lost, unless it was merged.{runs}"
        )
        if not yes and not click.confirm("Delete it?"):
            refuse("Nothing was deleted.", code=1)
        remove_branch(folder)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.secho(f"Deleted the branch {name}.", fg="green")


def create_chosen(
    chosen: ChosenBranch, data: Path | None, project: Path | None, config: Path | None, report: Reporter
) -> None:
    """Create the branch that a start means and that does not exist yet. Raises: SupervisorError."""
    _create(chosen.parent, chosen.name, data, project, config, chosen.git, report)


def _create(
    parent: DataFolder, name: str, data: Path | None, project: Path | None, config: Path | None, git: str,
    report: Reporter, moment: str = "", archive: str = "", keeps_accounts: bool = False,
    stop_after_s: float | None = None, remove_after_s: float | None = None,
) -> CreatedBranch:  # fmt: skip
    parents_project = named_project(parent.path, project, config)
    created = create_branch(
        parent, name, parents_project, report,
        git=git, moment=moment, archive=archive, keeps_accounts=keeps_accounts,
        stop_after_s=stop_after_s, remove_after_s=remove_after_s,
    )  # fmt: skip
    if created.record.masked:
        report.info(f"Masked: {', '.join(created.record.masked)}")
    for warning in created.record.warnings:
        report.warn(warning)
    copied = created.copied
    if created.record.at:
        report.info(f"Created the branch {name} of {created.record.at} in {created.seconds:.1f} s.")
        return created
    how = (
        "cloned"
        if copied.cloned == copied.size
        else f"{copied.cloned / _MIB:,.0f} MB cloned"
        if copied.cloned
        else "copied"
    )
    report.info(
        f"Created the branch {name} in {created.seconds:.1f} s: {copied.size / _MIB:,.0f} MB of the database {how} in {copied.seconds:.1f} s."
    )
    return created


def _limits(listed: ListedBranch) -> str:
    """Return when a branch was used, when it stops and when it is removed, as `branch list` shows it."""
    stops = f"  stops after {Duration(listed.stop_after_s)} without use" if listed.stop_after_s else ""
    used = f"  used {_moment(listed.used_at)}" if listed.used_at else ""
    removed = f"  removed at {_moment(listed.remove_at)}" if listed.remove_at else ""
    return used + stops + removed


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC"
