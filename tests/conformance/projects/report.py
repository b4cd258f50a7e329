"""What became of the projects: values, and how they are shown. Pure."""

from collections.abc import Sequence

import msgspec

CHECKS = ("start", "migrations", "seeds", "rest", "graphql", "functions", "storage")
"""The columns of the table, in the order in which they are looked at."""
_SHOWN_LINES = 12


class Failure(msgspec.Struct, frozen=True):
    """One thing that failed: where (file and statement, path, name), and what was said."""

    place: str
    message: str


class Check(msgspec.Struct, frozen=True):
    """One side of a project: what was looked at, in all, and what failed of it."""

    name: str
    items: list[dict[str, object]] = msgspec.field(default_factory=list)
    failures: list[Failure] = msgspec.field(default_factory=list)
    reached: bool = True

    @property
    def clean(self) -> bool:
        """Whether it was looked at and nothing failed."""
        return self.reached and not self.failures


class Outcome(msgspec.Struct, frozen=True):
    """One project: its checks by name, what the start warned of, how long all took, what was kept."""

    project: str
    folder: str
    clean: bool
    seconds: float
    checks: list[Check]
    notes: list[str]
    kept: str | None = None


def outcome(
    project: str, folder: str, checks: Sequence[Check], notes: Sequence[str], seconds: float, kept: str | None
) -> Outcome:
    """Give a project's outcome with a check for every name: those that are missing were not reached."""
    by_name = {check.name: check for check in checks}
    whole = [by_name.get(name, Check(name, reached=False)) for name in CHECKS]
    clean = all(check.clean for check in whole)
    return Outcome(project, folder, clean, round(seconds, 1), whole, list(notes), kept)


def told(one: Outcome) -> str:
    """Give what is shown of a project when it is done: a line, and each failure with its place."""
    lines = [f"{one.project}: {'clean' if one.clean else 'FAILED'} after {one.seconds:.1f} s"]
    lines += [f"  note: {note}" for note in one.notes]
    for check in one.checks:
        for failure in check.failures:
            lines.append(f"  {check.name}: {failure.place}")
            lines += [f"      {line}" for line in failure.message.splitlines()[:_SHOWN_LINES]]
    if one.kept:
        lines.append(f"  kept in {one.kept}")
    return "\n".join(lines)


def table(outcomes: Sequence[Outcome]) -> str:
    """Give the summary: how many of each kind were there, `bad/all` where some failed, `-` where it was not reached."""
    rows: list[tuple[str, ...]] = [("project", *CHECKS, "seconds", "")]
    for one in outcomes:
        cells = [_cell(check) for check in one.checks]
        rows.append((one.project, *cells, f"{one.seconds:.1f}", "clean" if one.clean else "FAILED"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    good = sum(one.clean for one in outcomes)
    return "\n".join([*(line.rstrip() for line in lines), f"Projects: {good}/{len(outcomes)}"])


def _cell(check: Check) -> str:
    if not check.reached:
        return "-"
    if check.failures:
        return (
            f"{len(check.failures)} bad"
            if not check.items
            else f"{len(check.failures)} bad/{len(check.items)}"
        )
    return "ok" if check.name == "start" else str(len(check.items))
