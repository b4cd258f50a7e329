"""One loop for all fuzzers: replay what was found once, then make cases until the budget is used up.

    corpus/<target>/*  -->  check           (findings of earlier runs: they must pass)
    generate | edit    -->  check  -->  a finding: shrink, report with seed and case; in long mode also save it and go on

A case is bytes, so that it can be a file. New cases come from the target's grammar or are edits of cases in a pool. If the
target names its code (`guided_by`), a case that reaches a new line of it joins the pool: so the fuzzer works its way past one
check after the other. Lines are watched with `sys.settrace`, which every supported Python has; functions that bring nothing
new are watched only now and then, which leaves half of the speed. Where a grammar makes all there is, guidance reaches no
more lines (measured: SAML 283 and 282, templates 375 and 379, messages of the log 88 and 88); it keeps the pool small, serves
targets whose cases are edits alone, and prints with each run how far the cases came.

Everything is derived from one seed. A gate's seed is fixed and its budget is a number of cases, so a gate does the same each
time; a long run draws its seed, prints it, and ends by the clock.

A finding is any exception that the check lets pass, more than `most_cpu_s` of this process's CPU in one case, or peak memory
that one case raises by more than `most_bytes`.
"""

import hashlib
import re
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

from tests.fuzz import mutate

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).resolve().parents[2]
_MIB = 1024 * 1024
_MOST_FINDINGS = 10
_MOST_POOL = 2000
_SHRINK_S = 10.0
_QUIET, _SELDOM = 50, 16
_SHOWN = 2000

Check = Callable[[bytes], None]
Edit = Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed. `check` raises if a case shows a defect; `cases` is the budget of a gate.

    `share` is how many cases in ten come from the generator and not from edits of the pool.
    """

    name: str
    generate: Callable[[Random], bytes]
    check: Check
    cases: int
    words: Sequence[bytes] = ()
    seeds: Sequence[bytes] = ()
    guided_by: Sequence[str] = ()
    edit: Edit = mutate.edited
    share: int = 4
    most_cpu_s: float = 2.0
    most_bytes: int = 64 * _MIB


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to look: `seconds` in long mode; None for this part of the cases that the target names."""

    seed: int
    seconds: float | None = None
    part: float = 1.0

    @property
    def is_long(self) -> bool:
        """Whether findings are saved and the search goes on after them."""
        return self.seconds is not None


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that shows a defect. Two with one `signature` are taken for the same defect."""

    signature: str
    case: bytes
    text: str


@dataclass(slots=True)
class Figures:
    """What a run did."""

    cases: int = 0
    seconds: float = 0.0
    lines: int = 0
    pool: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def a_minute(self) -> float:
        """Return cases a minute."""
        return self.cases * 60 / max(self.seconds, 0.001)


class DefectsFound(AssertionError):
    """Cases that show defects; its text holds seed and cases."""


class Watch:
    """The lines of a target's code that any case has reached."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._places = tuple(str(ROOT / folder) for folder in folders)
        self._seen: dict[CodeType, set[int]] = {}
        self._calls: dict[CodeType, int] = {}
        self._is_new = False

    @property
    def lines(self) -> int:
        """Return how many lines were reached."""
        return sum(len(lines) for lines in self._seen.values())

    @contextmanager
    def case(self) -> Iterator[None]:
        """Watch while a case runs."""
        self._is_new = False
        if not self._places:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    @property
    def is_new(self) -> bool:
        """Whether the last case reached a line that none had reached before."""
        return self._is_new

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        calls = self._calls.get(code)
        if calls is None:
            calls = 0 if code.co_filename.startswith(self._places) else -1
        if calls < 0:
            self._calls[code] = -1
            return None
        self._calls[code] = calls + 1
        if calls > _QUIET and calls % _SELDOM:
            return None
        seen = self._seen.setdefault(code, set())

        def line(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_lineno not in seen:
                seen.add(frame.f_lineno)
                self._calls[code] = 0
                self._is_new = True
            return line

        return line


def run(target: Target, budget: Budget) -> Figures:
    """Replay the corpus of a target, then look for new findings. Raises: Found."""
    figures = Figures()
    for path in sorted((CORPUS / target.name).glob("*")):
        if (finding := _tried(target, path.read_bytes())) is not None:
            raise DefectsFound(f"{path.relative_to(ROOT)} shows its defect again\n{finding.text}")
    _search(target, budget, figures)
    print(
        f"\n{target.name}: {figures.cases} cases in {figures.seconds:.1f} s ({figures.a_minute:.0f} a minute), "
        f"{figures.lines} lines reached, pool of {figures.pool}, {len(figures.findings)} findings, seed {budget.seed}"
    )
    if figures.findings:
        raise DefectsFound("\n\n".join(_report(target, budget, finding) for finding in figures.findings))
    return figures


def _search(target: Target, budget: Budget, figures: Figures) -> None:
    random = Random(f"{budget.seed} {target.name}")
    watch, pool, begun = Watch(target.guided_by), list(target.seeds), time.monotonic()
    while _goes_on(target, budget, figures, begun):
        if not pool or random.randrange(10) < target.share:
            case = target.generate(random)
        else:
            case = target.edit(random, random.choice(pool), target.words, pool)
        with watch.case():
            finding = _tried(target, case)
        figures.cases += 1
        if finding is not None:
            _keep(target, budget, figures, finding)
        elif watch.is_new or (not target.guided_by and random.randrange(20) == 0):
            pool.append(case) if len(pool) < _MOST_POOL else pool.__setitem__(
                random.randrange(_MOST_POOL), case
            )
    figures.seconds, figures.lines, figures.pool = time.monotonic() - begun, watch.lines, len(pool)


def _goes_on(target: Target, budget: Budget, figures: Figures, begun: float) -> bool:
    if budget.seconds is None:
        return figures.cases < target.cases * budget.part and not figures.findings
    return time.monotonic() - begun < budget.seconds and len(figures.findings) < _MOST_FINDINGS


def _keep(target: Target, budget: Budget, figures: Figures, finding: Finding) -> None:
    """Add a finding unless it is known; make its case small, and in long mode a file."""
    if finding.signature in {known.signature for known in figures.findings}:
        return
    small = _shrunk(target, finding)
    figures.findings.append(small)
    if budget.is_long:
        folder = CORPUS / target.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(small.case).hexdigest()[:12]).write_bytes(small.case)


def _tried(target: Target, case: bytes) -> Finding | None:
    """Check one case, and what it took."""
    peak, cpu = _peak(), time.process_time()
    try:
        target.check(case)
    except Exception as error:
        return Finding(_signature(error), case, "".join(traceback.format_exception(error, limit=-6)))
    took, grown = time.process_time() - cpu, _peak() - peak
    if took > target.most_cpu_s:
        return Finding("time", case, f"one case took {took:.1f} s of CPU")
    if grown > target.most_bytes:
        return Finding("memory", case, f"one case raised peak memory by {grown / _MIB:.0f} MiB")
    return None


def _shrunk(target: Target, finding: Finding) -> Finding:
    """Leave out what the finding does not need: halves first, then ever smaller parts."""
    ends, size = time.monotonic() + _SHRINK_S, max(1, len(finding.case) // 2)
    if finding.signature == "memory":  # a peak is reached once
        return finding
    while time.monotonic() < ends:
        at, is_smaller = 0, False
        while at < len(finding.case) and time.monotonic() < ends:
            smaller = _tried(target, finding.case[:at] + finding.case[at + size :])
            if smaller is not None and smaller.signature == finding.signature:
                finding, is_smaller = smaller, True
            else:
                at += size
        if size == 1 and not is_smaller:
            break
        size = max(1, size // 2)
    return finding


def _signature(error: BaseException) -> str:
    """Name a defect: the kind of error, and where in our code (or in the check) it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if frame.filename.startswith(str(ROOT)) and "/tests/" not in frame.filename
    ]
    place = (ours or list(frames))[-1]
    text = re.sub(r"[^a-zA-Z ]+", "", str(error))[:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} {Path(place.filename).name}:{place.lineno} {text}"


def _report(target: Target, budget: Budget, finding: Finding) -> str:
    shown = repr(finding.case[:_SHOWN]) + (" ..." if len(finding.case) > _SHOWN else "")
    return (
        f"{target.name}, seed {budget.seed}: {finding.text}\ncase of {len(finding.case)} bytes (keep it as a file in "
        f"tests/fuzz/corpus/{target.name}/):\n{shown}"
    )


def _peak() -> int:
    """Return the most memory that this process ever had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
