"""Make faults in a copy of the checkout and report which the tests see: python -m tests.mutation --count 100 --seed 1.

Faults are spread over the packages by their lines. A fault is seen if a test that `scripts/affected` names fails; tests of
whole platforms are not run for it, so a fault that only they see counts as unseen. Results are added to `--results` as lines of
JSON; what stands there already is not tried again, so a run that was stopped goes on. With `--wide` a fault that was not seen is tried
once more, by mypy, which the gate runs too, and by all tests of its area and the conformance cases of it, those that start pools among them.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.python_faults import Fault, python_faults
from tests.mutation.sql_faults import sql_faults

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("services", "broker", "schemas", "workers")
TESTS_FAILED, NO_TESTS, KILLED = 1, 5, -1
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", re.MULTILINE)
_MOST_LEFT_OUT = 5
"""Tests that fail without the fault too, before a fault counts as seen by any failure."""
_IGNORED = shutil.ignore_patterns(
    ".venv", "node_modules", ".*_cache", "__pycache__", "build", "dist", ".hypothesis"
)


def main() -> None:
    """Try the faults and print a table of the packages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--limit",
        type=float,
        default=120,
        help="seconds for one fault, four times as many with --wide; a run that lasts longer has not seen it",
    )
    parser.add_argument(
        "--wide", action="store_true", help="try what was not seen with all tests of its area"
    )
    parser.add_argument("--results", type=Path, default=Path("build/mutation.jsonl"))
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    done = {record["fault"]: record for record in _records(options.results)}
    with tempfile.TemporaryDirectory(prefix="headwater-mutation-") as folder:
        copy = Path(folder) / "headwater"
        shutil.copytree(ROOT, copy, ignore=_IGNORED, symlinks=True)
        if options.wide and (types := ROOT / ".mypy_cache").is_dir():
            shutil.copytree(types, copy / types.name)
        for path, fault in chosen_faults(options.count, options.seed):
            name = f"{path}:{fault.start}:{fault.kind}:{fault.text[:40]}"
            known = done.get(name)
            if known is not None and not (
                options.wide and known["outcome"] != "seen" and not known.get("is_wide")
            ):
                continue
            if options.wide:
                tried = _try_types(copy, path, fault) or _try(
                    copy, path, fault, _area_tests(path), options.limit * 4, is_whole=True
                )
            else:
                tried = _try(copy, path, fault, _near_tests(path), options.limit)
            done[name] = {"fault": name, "line": _line(path, fault), "is_wide": options.wide, **tried}
            with options.results.open("a") as file:
                file.write(json.dumps(done[name]) + "\n")
            print(
                f"{done[name]['outcome']:8} {done[name]['seconds']:5.0f} s  {done[name]['line']}", flush=True
            )
    _print_table(list(done.values()))


def chosen_faults(count: int, seed: int) -> Iterator[tuple[Path, Fault]]:
    """Yield faults at random places: each file as often as its lines say."""
    choice = random.Random(seed)
    files = [
        path
        for package in PACKAGES
        for ending in ("py", "sql")
        for path in sorted((ROOT / package).rglob(f"*.{ending}"))
    ]
    texts = {path: path.read_text(encoding="utf-8") for path in files if "node_modules" not in path.parts}
    weights = [text.count("\n") for text in texts.values()]
    found = 0
    while found < count:
        [path] = choice.choices(list(texts), weights)
        faults = (python_faults if path.suffix == ".py" else sql_faults)(texts[path])
        if faults:
            found += 1
            yield path.relative_to(ROOT), choice.choice(faults)


def _near_tests(path: Path) -> list[str]:
    """Return the tests that a change of a file can break, without those of whole platforms."""
    command = [sys.executable, ROOT / "scripts" / "affected", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _area_tests(path: Path) -> list[str]:
    """Return the tests of a file's area, and the conformance cases whose name begins with it."""
    package, area = path.parts[:2]
    folder = Path("tests", package, area)
    found = [folder if (ROOT / folder).is_dir() else Path("tests", package)]
    found += [
        path.relative_to(ROOT) for path in sorted((ROOT / "tests" / "conformance").glob(f"test_{area}*.py"))
    ]
    return [str(path) for path in found]


def _try_types(copy: Path, path: Path, fault: Fault) -> dict[str, object] | None:
    """Return that mypy sees a fault, or None."""
    if path.suffix != ".py":
        return None
    target = copy / path
    source = target.read_text(encoding="utf-8")
    begun = time.monotonic()
    target.write_text(fault.apply(source), encoding="utf-8")
    try:
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", str(path)], cwd=copy, capture_output=True, check=False
        )
    finally:
        target.write_text(source, encoding="utf-8")
    if checked.returncode != 1:
        return None
    return {"outcome": "seen", "seconds": round(time.monotonic() - begun, 1), "tests": 0, "seen_by": "mypy"}


def _try(
    copy: Path, path: Path, fault: Fault, tests: list[str], limit_s: float, is_whole: bool = False
) -> dict[str, object]:
    """Return what tests make of a fault; a test that fails without it as well does not see it."""
    target = copy / path
    source = target.read_text(encoding="utf-8")
    begun = time.monotonic()
    left_out: list[str] = []
    while True:
        target.write_text(fault.apply(source), encoding="utf-8")
        try:
            code, failed = _run(copy, tests, left_out, limit_s, is_whole) if tests else (NO_TESTS, "")
        finally:
            target.write_text(source, encoding="utf-8")
        if (
            not failed
            or len(left_out) >= _MOST_LEFT_OUT
            or _run(copy, [failed], [], limit_s, is_whole)[0] == 0
        ):
            break
        left_out.append(failed)
    outcome = {0: "unseen", NO_TESTS: "untested", KILLED: "too long"}.get(code, "seen")
    return {
        "outcome": outcome,
        "seconds": round(time.monotonic() - begun, 1),
        "tests": len(tests),
        "seen_by": failed,
    }


def _run(
    copy: Path, tests: list[str], left_out: list[str], limit_s: float, is_whole: bool
) -> tuple[int, str]:
    """Run tests, those that start pools too if `is_whole`, until one fails; return pytest's exit code and the test that failed, empty where none did or it has no name."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", "--timeout=60"]
    command += ["--without-long", "--processes=2"] * is_whole
    command += [f"--deselect={name}" for name in left_out] + tests
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
            | ({} if is_whole else {"TESTS_FAST": "1"}),
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process,
    ):
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            return KILLED, ""
        output.seek(0)
        found = _FAILED.search(output.read())
    return code, found[1] if found else ""


def _line(path: Path, fault: Fault) -> str:
    """Return the place and the change in one line."""
    source = (ROOT / path).read_text(encoding="utf-8")
    before = source[fault.start : fault.end].strip().replace("\n", " ")
    return f"{path}:{source.count(chr(10), 0, fault.start) + 1} {fault.kind}: {before[:60]!r} -> {fault.text.strip()[:60]!r}"


def _records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _print_table(records: list[dict[str, object]]) -> None:
    """Print how many faults of each package were seen, and those that were not."""
    totals: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for record in records:
        package = "/".join(str(record["fault"]).split("/")[:2])
        totals[package] += 1
        seen[package] += record["outcome"] == "seen"
    for package in sorted(totals):
        print(f"{package:28} {seen[package]:4} of {totals[package]:4} seen")
    print(f"{'all':28} {seen.total():4} of {totals.total():4} seen")
    for record in records:
        if record["outcome"] != "seen":
            print(f"{record['outcome']:8} {record['line']}")


if __name__ == "__main__":
    main()
