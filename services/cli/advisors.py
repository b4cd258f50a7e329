"""`headwater db advisors`: faults of the database and of the settings of auth, with their fixes."""

import json
import textwrap
from pathlib import Path
from typing import Any

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text

_LEVELS = ("info", "warn", "error")
_COLOURS = {"INFO": "blue", "WARN": "yellow", "ERROR": "red"}
_WIDTH = 100


@click.command()
@platform_options
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    default="warn",
    show_default=True,
    help="List findings from this level on.",
)
@click.option(
    "--category", type=click.Choice(["security", "performance"]), help="Only findings of this category."
)
@click.option("--schema", metavar="NAME", help="Only findings in this schema.")
@click.option("--dismissed", is_flag=True, help="Also findings that were dismissed.")
@click.option(
    "--fail-on",
    type=click.Choice(["none", "warn", "error"]),
    default="none",
    show_default=True,
    help="Level of listed findings from which on the exit code is 1.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def advisors(
    data: Path | None,
    project: Path | None,
    level: str,
    category: str | None,
    schema: str | None,
    dismissed: bool,
    fail_on: str,
    as_json: bool,
) -> None:
    """Look for faults: tables open to clients, slow policies, missing and unused indexes... with SQL that mends them.

    \b
    headwater db advisors
    headwater db advisors --level info --category performance
    headwater db advisors --level error --fail-on error --json

    \b
    Exit codes: 0 looked, 1 findings of --fail-on, or nothing runs
    """
    result = operate(
        data,
        project,
        "advisors.list",
        level=level.upper(),
        category=category and category.upper(),
        schema=schema,
        include_dismissed=dismissed,
    )
    click.echo(json_text(result["findings"]) if as_json else _text(result))
    if is_failing(result["findings"], fail_on):
        raise click.exceptions.Exit(1)


def is_failing(findings: list[dict[str, Any]], fail_on: str) -> bool:
    """Return whether a finding that is not dismissed has the level `fail_on` or a graver one. Level `none` is never reached."""
    if fail_on == "none":
        return False
    least = _LEVELS.index(fail_on)
    return any(_LEVELS.index(row["level"].lower()) >= least for row in findings if not row["is_dismissed"])


def _text(result: dict[str, Any]) -> str:
    """Return the findings as text: a line each, its explanation, and its fix."""
    lines: list[str] = []
    for row in result["findings"]:
        title = click.style(f"{row['level']:<5}", fg=_COLOURS[row["level"]])
        lines.append(
            f"{title} {row['name']}: {_printable(row['detail'])}{' (dismissed)' if row['is_dismissed'] else ''}"
        )
        lines += textwrap.wrap(row["explanation"], _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
        if row["fix"]:
            lines += [f"      {_printable(line)}" for line in row["fix"].splitlines()]
        for key, value in (row["settings"] or {}).items():
            lines.append(f"      setting {key} = {json.dumps(value)}")
    listed = len(result["findings"])
    more = f", {result['omitted']} more are not listed" if result["omitted"] else ""
    count = result["dismissed"]
    hidden = f", {count} {'is' if count == 1 else 'are'} dismissed" if count else ""
    lines.append(f"{listed} finding{'' if listed == 1 else 's'}{more}{hidden}.")
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Return a text of the catalog without characters that would steer the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
