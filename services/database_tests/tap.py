"""Reads TAP, the text that pgTAP prints (pure). Source: the Test Anything Protocol, version 13.

    1..3                        the plan: three tests, before or after them
    ok 1 - a row is there
    not ok 2 - no row is there  # TODO not yet      a failure that is expected
    # Failed test 2: ...        diagnostics of the test before
    ok 3 # SKIP no server
    Bail out!  the schema is missing

Lines that begin with blanks are those of subtests (`runtests()`), whose result the line below them repeats.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.numbers import clamp_whole_number

_MOST = 1_000_000
"""Tests of a file: a plan of more is one of so many, which did not all run."""
_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*(?:skip)\w*\s*(.*))?", re.IGNORECASE)
_TEST = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s*-)?\s*(.*)")
_DIRECTIVE = re.compile(r"\s*(?<!\\)#\s*(todo|skip)\b\S*\s*(.*)", re.IGNORECASE)
_BAIL = re.compile(r"Bail out!\s*(.*)")


@dataclass
class TapTest:
    """One test: `directive` is `todo`, `skip` or empty, `reason` what stands behind it."""

    number: int
    is_ok: bool
    description: str
    directive: str = ""
    reason: str = ""
    diagnostics: list[str] = field(default_factory=list)

    @property
    def is_passed(self) -> bool:
        """Whether it counts as passed: a failure that is expected does."""
        return self.is_ok or self.directive == "todo"


@dataclass
class TapResult:
    """What one file printed. `planned` is None without a plan."""

    tests: list[TapTest] = field(default_factory=list)
    planned: int | None = None
    bailed_out: str | None = None

    @property
    def faults(self) -> list[str]:
        """What is wrong with the run as a whole, beside tests that failed."""
        faults = []
        if self.bailed_out is not None:
            faults.append(f"bailed out: {self.bailed_out or 'no reason given'}")
        if self.planned is None:
            faults.append("no plan: the file does not call plan() and finish()")
        elif self.planned != len(self.tests):
            faults.append(f"{self.planned} tests were planned, and {len(self.tests)} ran")
        return faults

    @property
    def is_passed(self) -> bool:
        """Whether every planned test ran and passed."""
        return not self.faults and all(test.is_passed for test in self.tests)


def read_tap(lines: Iterable[str]) -> TapResult:
    """Read the lines of one file. Lines that are not TAP are ignored."""
    result = TapResult()
    for line in lines:
        if match := _PLAN.fullmatch(line.rstrip()):
            result.planned = clamp_whole_number(match[1], most=_MOST)
        elif match := _BAIL.match(line):
            result.bailed_out = match[1].strip()
        elif match := _TEST.fullmatch(line.rstrip()):
            result.tests.append(_test(match, len(result.tests) + 1))
        elif line.startswith("#") and result.tests:
            result.tests[-1].diagnostics.append(line[1:].strip())
    return result


def _test(match: re.Match[str], expected: int) -> TapTest:
    text = match[3]
    directive = _DIRECTIVE.search(text)
    description = text[: directive.start()] if directive else text
    return TapTest(
        clamp_whole_number(match[2] or "", most=_MOST) or expected,
        match[1] is None,
        description.strip(),
        directive[1].lower() if directive else "",
        directive[2].strip() if directive else "",
    )
