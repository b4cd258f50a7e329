"""`headwater history`: versions of rows, and who wrote them (docs/history.md)."""

import json
from pathlib import Path
from typing import Any

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text

_ACTIONS = {"insert": "Insert again", "update": "Overwrite", "delete": "Delete"}


class _ShowsByDefault(click.Group):
    """`headwater history TABLE KEY` is `headwater history show TABLE KEY`: any word that is no command is a table."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; `show` for the name of a table."""
        return super().get_command(ctx, cmd_name) or self.commands["show"]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a line and its arguments."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "show", self.commands["show"], args


@click.group(cls=_ShowsByDefault)
def history() -> None:
    """Show who changed a row and what it was before; `headwater history TABLE KEY`.

    \b
    headwater history on orders --days 30
    headwater history orders 17
    headwater history undo orders 16b3748-0-0
    headwater history copy orders 17 --at 2026-11-22T10:15:00Z
    """


@history.command()
@platform_options
@click.argument("table")
@click.argument("key", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many versions, the newest first.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON, with all values.")
def show(
    data: Path | None, project: Path | None, table: str, key: tuple[str, ...], limit: int, as_json: bool
) -> None:
    """Show the versions of a row, those of a deleted row too.

    KEY is the value of the primary key; of a key of several columns COLUMN=VALUE for each.
    """
    schema, bare = _named(table)
    page = operate(
        data, project, "history.versions",
        table=bare, schema=schema, key=_key(data, project, table, key), limit=limit,
    )  # fmt: skip
    if as_json:
        click.echo(json_text(page))
        return
    for version in page["versions"]:
        click.echo(
            f"{version['version']} {version['at']} {version['operation']} by {_cause(version['cause'])}"
        )
        for line in _difference(version):
            click.echo(f"  {line}")
    if page["is_cut"]:
        click.echo(f"There are older ones: --limit {limit * 10}")
    if not page["versions"]:
        click.echo(f"There is no version of this row since {page['since']}.")
    if not page["is_on"]:
        click.secho("The history of this table is off.", fg="yellow")
    for gap in page["gaps"]:
        click.secho(f"Versions may be missing around {gap['at']}: {gap['reason']}", fg="yellow")


@history.command()
@platform_options
@click.argument("table")
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How long versions are kept.")  # fmt: skip
def on(data: Path | None, project: Path | None, table: str, days: int) -> None:
    """Keep versions of a table's rows from now on. The table gets replica identity full until `off`."""
    schema, bare = _named(table)
    state = operate(data, project, "history.change", table=bare, schema=schema, days=days)
    if state["is_waiting"]:
        click.secho(
            "The table is in use, or the platform does not run: its history begins as soon as it can.",
            fg="yellow",
        )
        return
    click.echo(f"{schema}.{bare} has a history of {days} days")


@history.command()
@platform_options
@click.argument("table")
@click.option("--forget", is_flag=True, help="Remove what is stored at once; else it stays for its days.")
def off(data: Path | None, project: Path | None, table: str, forget: bool) -> None:
    """Keep no further versions of a table's rows."""
    schema, bare = _named(table)
    state = operate(data, project, "history.change", table=bare, schema=schema, days=None, forgets=forget)
    if state["is_waiting"]:
        click.secho(
            "The table is in use, or the platform does not run: its history ends as soon as it can.",
            fg="yellow",
        )
        return
    click.echo(f"{schema}.{bare} has no history from now on")


@history.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List the tables with a history, what it takes and where versions may be missing."""
    rows = operate(data, project, "history.tables")
    if as_json:
        click.echo(json_text(rows))
        return
    for row in rows:
        state = f"{row['days']} days" if row["is_on"] else "off"
        click.echo(
            f"{row['schema']}.{row['table']}: {state}, since {row['since']}, {row['size_bytes'] / 1e6:.1f} MB"
        )
        for gap in row["gaps"]:
            click.secho(f"  versions may be missing around {gap['at']}: {gap['reason']}", fg="yellow")
    if not rows:
        click.echo("No table has a history. `headwater history on TABLE` begins one.")


@history.command()
@platform_options
@click.argument("table")
@click.argument("version")
def undo(data: Path | None, project: Path | None, table: str, version: str) -> None:
    """Write the values of before a version as a new change, unless the row has others by now."""
    schema, bare = _named(table)
    operate(data, project, "history.undo", table=bare, schema=schema, version=version)
    click.echo(f"Version {version} is undone")


@history.command()
@platform_options
@click.argument("table")
@click.argument("key", nargs=-1, required=True)
@click.option("--at", "moment", required=True, metavar="TIME", help="With its zone: 2026-11-22T10:15:00Z.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def copy(
    data: Path | None, project: Path | None, table: str, key: tuple[str, ...], moment: str, yes: bool
) -> None:
    """Make a row as it was at a moment: overwrite it, insert it again, or delete it if it was not there.

    What is overwritten is printed before, and nothing is written if the row changes until you say yes.

    \b
    headwater history copy orders 17 --at 2026-11-22T10:15:00Z
    """
    schema, bare = _named(table)
    request = {
        "table": bare, "schema": schema, "moment": moment, "keys": [_key(data, project, table, key)],
    }  # fmt: skip
    trial = operate(data, project, "history.copy_rows", **request, only_tries=True)
    [row] = trial["rows"]
    if row["action"] == "none":
        click.echo("The row is as it was then.")
        return
    click.echo(f"{_ACTIONS[row['action']]} {row['key']}")
    for name in sorted({*row["before"], *row["after"]}):
        click.echo(f"  {name}: {_shown(row['before'], name)} -> {_shown(row['after'], name)}")
    if not yes and not click.confirm("Write that?", err=True):
        click.echo("Nothing was written.")
        raise click.exceptions.Exit(1)
    operate(data, project, "history.copy_rows", **request, expected=trial["state"])
    click.echo(f"The row is as it was at {moment}")


@history.command()
@platform_options
@click.argument("table", default="")
@click.argument("key", nargs=-1)
@click.option("--person", metavar="SUB", help="Erase versions of this person's rows, and his name in causes.")
@click.option(
    "--column",
    metavar="NAME",
    help="The column of TABLE that names the person, beside references to auth.users.",
)
def erase(
    data: Path | None,
    project: Path | None,
    table: str,
    key: tuple[str, ...],
    person: str | None,
    column: str | None,
) -> None:
    """Remove versions of a row, or all of a person's.

    \b
    headwater history erase orders 17
    headwater history erase --person 5f0c2f3e-5f0e-4b57-9d9c-0a5a3f1f2c11
    """
    if not key and not person:
        raise click.UsageError("Name a row, TABLE and KEY, or a person: --person SUB.")
    if column and not (table and person):
        raise click.UsageError("--column needs TABLE and --person SUB.")
    schema, bare = _named(table)
    erased = operate(
        data, project, "history.erase", table=bare, schema=schema, person=person, column=column,
        key=_key(data, project, table, key) if key else None,
    )  # fmt: skip
    click.echo(f"{erased['versions']} versions removed, the person's name in {erased['names']}")


def _named(table: str) -> tuple[str, str]:
    schema, dot, bare = table.rpartition(".")
    return (schema if dot else "public"), bare


def _key(data: Path | None, project: Path | None, table: str, words: tuple[str, ...]) -> dict[str, str]:
    """Return a key from the command line: the columns are those of the table's history."""
    if len(words) > 1 or "=" in words[0]:
        pairs = [word.partition("=") for word in words]
        if all(equals for _, equals, _ in pairs):
            return {name: value for name, _, value in pairs}
    if len(words) > 1:
        raise click.BadParameter(
            "a key of several columns has the form COLUMN=VALUE COLUMN=VALUE", param_hint="KEY"
        )
    schema, bare = _named(table)
    rows = operate(data, project, "history.tables")
    names = next((row["key"] for row in rows if (row["schema"], row["table"]) == (schema, bare)), ["id"])
    if len(names) != 1:
        raise click.BadParameter(
            f"the key has several columns: {'=VALUE '.join(names)}=VALUE", param_hint="KEY"
        )
    return {names[0]: words[0]}


def _shown(values: dict[str, Any], name: str) -> str:
    return json.dumps(values[name]) if name in values else "nothing"


def _difference(version: dict[str, Any]) -> list[str]:
    """Return a line for each value of a version: what changed, or what was inserted or deleted."""
    before, after = version.get("before") or {}, version.get("after") or {}
    if version["operation"] == "update":
        return [
            f"{name}: {json.dumps(before[name])} -> {json.dumps(after.get(name))}" for name in sorted(before)
        ]
    return [f"{name}: {json.dumps(value)}" for name, value in (after or before).items()]


def _cause(cause: dict[str, Any]) -> str:
    if cause.get("request_id"):
        who = f"{cause.get('role', '')} {cause.get('sub', '')}".strip()
        text = f"{who}, {cause.get('area')} {cause.get('request')}, request {cause['request_id']}"
    else:
        text = " ".join(part for part in (cause["source"], cause.get("login")) if part)
    return f"{text} (in a trigger)" if cause.get("by_trigger") else text
