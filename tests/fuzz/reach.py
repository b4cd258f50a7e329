"""Measure which lines of the code under test a property test reaches: a pytest plugin, loaded on request.

    python -m pytest -p tests.fuzz.reach tests/workers/rest/parse -k "any or every"

For each Hypothesis test it prints the functions of the platform that were entered in the module under test (the twin of
the test module, or else the modules that were entered), how many of their lines were reached, and which were not. A test
whose examples all end at the first check shows long runs of lines that are missed after it.
"""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_CODE = tuple(f"{_ROOT / name}{os.sep}" for name in ("services", "broker", "schemas", "workers"))


class Lines:
    """Counts how often each line of the platform's functions ran while a test did."""

    def __init__(self) -> None:
        self.counts: dict[CodeType, dict[int, int]] = {}

    def __enter__(self) -> "Lines":
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # the stubs lack None, which the documentation names

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(_CODE):
            return None
        counts = self.counts.setdefault(frame.f_code, {})

        def line(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line":
                counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
            return line

        return line


def lines_of(code: CodeType) -> set[int]:
    """Return the lines of a function that can run, without the line of its `def`."""
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


def _twin(module: Path) -> str:
    """Return the source file that a test module mirrors."""
    inner = module.relative_to(_ROOT / "tests")
    return str(_ROOT / inner.parent / inner.name.removeprefix("test_"))


def table(module: Path, counts: dict[CodeType, dict[int, int]]) -> Iterator[str]:
    """Yield a line for each file and function: lines reached, lines there are, lines missed."""
    twin = _twin(module)
    functions = [
        code
        for code in counts
        if code.co_name not in ("<module>", "<lambda>") and "genexpr" not in code.co_name
    ]
    chosen = [code for code in functions if code.co_filename == twin] or functions
    reached = sum(len(lines_of(code) & set(counts[code])) for code in chosen)
    total = sum(len(lines_of(code)) for code in chosen)
    yield f"reach {reached}/{total}"
    for code in sorted(chosen, key=lambda code: (code.co_filename, code.co_firstlineno)):
        missed = sorted(lines_of(code) - set(counts[code]))
        if missed:
            name = Path(code.co_filename).relative_to(_ROOT)
            yield f"    {name}:{code.co_firstlineno} {code.co_qualname if sys.version_info >= (3, 11) else code.co_name} missed {missed}"


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Trace Hypothesis tests, and print what they reached."""
    if not getattr(pyfuncitem.obj, "is_hypothesis_test", False):
        yield
        return
    with Lines() as lines:
        yield
    print(
        f"\n== {pyfuncitem.nodeid}",
        *table(Path(pyfuncitem.path), lines.counts),
        sep="\n",
        file=sys.__stdout__,
    )
