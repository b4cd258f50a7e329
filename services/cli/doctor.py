"""`headwater doctor`: find what is wrong with an installation or a platform, and print how to fix it."""

import json
import sys
from pathlib import Path

import click

from services.cli.installed_files import overwritten_files
from services.cli.options import data_folder, platform_options
from services.doctor.checks import look_at_platform
from services.doctor.finding import DoctorFinding, FindingLevel

_MARKS = {
    FindingLevel.OK: ("ok", "green"),
    FindingLevel.WARNING: ("look", "yellow"),
    FindingLevel.ERROR: ("wrong", "red"),
}


@click.command()
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as -o json.")
def doctor(data: Path | None, project: Path | None, form: str, as_json: bool) -> None:
    """Look for what is wrong, and print how to fix each problem.

    It changes nothing. Of a platform that runs, its servers are asked; of one that does not, what a start would meet.

    \b
    Exit codes: 0 nothing is wrong, 1 something is, 2 there are only warnings
    """
    findings = [_intact(), *look_at_platform(data_folder(data, project), project)]
    if as_json or form == "json":
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        for finding in findings:
            show_finding(finding)
    levels = {finding.level for finding in findings}
    sys.exit(1 if FindingLevel.ERROR in levels else 2 if FindingLevel.WARNING in levels else 0)


def show_finding(finding: DoctorFinding) -> None:
    """Print a finding for people."""
    word, color = _MARKS[finding.level]
    click.echo(f"{click.style(f'{word:>6}', fg=color)}  {finding.title}: {finding.text}")
    if finding.cure:
        click.echo(f"        {finding.cure}")


def _intact() -> DoctorFinding:
    if changed := overwritten_files():
        return DoctorFinding(
            "installation",
            FindingLevel.ERROR,
            f"{len(changed)} files of headwater were changed by another package, first {changed[0]}",
            "Install headwater again, in an environment of its own (`uv tool install headwater`).",
        )
    return DoctorFinding("installation", FindingLevel.OK, "the files are those that were installed")
