"""`headwater doctor`: what is wrong with an installation or a platform, and the cure of each."""

import json
import sys
from pathlib import Path

import click

from services.cli.intact import overwritten_files
from services.cli.options import data_folder, platform_options
from services.doctor.finding import Finding, Level
from services.doctor.look import look_at_platform

_MARKS = {Level.OK: ("ok", "green"), Level.WARNING: ("look", "yellow"), Level.ERROR: ("wrong", "red")}


@click.command()
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as -o json.")
def doctor(data: Path | None, project: Path | None, form: str, as_json: bool) -> None:
    """Look for what is wrong, and say how each is cured.

    It changes nothing. Of a platform that runs, its servers are asked; of one that does not, what a start would meet.

    \b
    Exit codes: 0 nothing is wrong, 1 something is, 2 there are only warnings
    """
    found = [_intact(), *look_at_platform(data_folder(data, project), project)]
    if as_json or form == "json":
        click.echo(json.dumps([each.as_dict() for each in found], indent=2))
    else:
        for each in found:
            _show(each)
    levels = {each.level for each in found}
    sys.exit(1 if Level.ERROR in levels else 2 if Level.WARNING in levels else 0)


def _show(each: Finding) -> None:
    word, color = _MARKS[each.level]
    click.echo(f"{click.style(f'{word:>6}', fg=color)}  {each.title}: {each.told}")
    if each.cure:
        click.echo(f"        {each.cure}")


def _intact() -> Finding:
    if changed := overwritten_files():
        return Finding(
            "installation",
            Level.ERROR,
            f"{len(changed)} files of headwater were changed by another package, first {changed[0]}",
            "Install headwater again, in an environment of its own (`uv tool install headwater`).",
        )
    return Finding("installation", Level.OK, "the files are those that were installed")
