"""What failed in a run, once more as its last lines.

Whoever reads only the end of a log (a gate that was stopped, a run that broke off) sees there which tests failed and why.
pytest prints its own summary only if the run ends in order.
"""

import pytest

_LINES_OF_AN_ERROR = 12
_MOST_TESTS = 15
_LONGEST_LINE = 300


class FailureDigest:
    """Collects the failures of a run in the process that prints, and prints them when it ends."""

    def __init__(self) -> None:
        self._failed: list[str] = []
        self._internal: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the name, phase and last line of a test that failed."""
        if report.failed:
            self._failed.append(f"{report.nodeid} ({report.when}): {_last_line(report.longreprtext)}")

    def pytest_internalerror(self, excrepr: object) -> None:
        """Keep the end of the first error of pytest or one of its processes; later ones follow from it."""
        if not self._internal:
            self._internal = str(excrepr).splitlines()[-_LINES_OF_AN_ERROR:]

    def pytest_unconfigure(self) -> None:
        """Print what was kept."""
        for line in self.lines():
            print(line[:_LONGEST_LINE])

    def lines(self) -> list[str]:
        """Return the lines that are printed; none if nothing failed."""
        more = len(self._failed) - _MOST_TESTS
        tests = self._failed[:_MOST_TESTS] + ([f"and {more} more"] if more > 0 else [])
        errors = ["the first internal error:", *self._internal] if self._internal else []
        return ["what failed:", *tests, *errors] if tests or errors else []


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")]
    return (errors or lines or [""])[0 if errors else -1].removeprefix("E").strip()
