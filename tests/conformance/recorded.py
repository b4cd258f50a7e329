"""Which conformance cases fail, by id, against those that are recorded as failing: a gain cannot hide a loss.

The cases are in `../shared/conformance` beside the repository. Where that folder is missing the tests are skipped, except with
`CONFORMANCE=required` in the environment (`.ci/run` sets it where the folder was there at its start): then they fail.
"""

import os
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[3] / "shared" / "conformance"


def require_cases(folder: Path) -> None:
    """Skip the test where the folder of the cases is missing, or fail it where the environment demands it."""
    if folder.is_dir():
        return
    if os.environ.get("CONFORMANCE") == "required":
        pytest.fail(
            f"{folder.name}: the conformance cases are missing, and CONFORMANCE=required demands them"
        )
    pytest.skip("the conformance cases are not beside the repository")


def compare(failing: set[str], total: int, record: Path, output: str) -> None:
    """Compare the ids that fail with those in `record`: a line each, two blanks and `#` start a comment, `total N` is the number of cases.

    Raises AssertionError for an id that fails and is not recorded, for one that is recorded and passes, and for fewer cases.
    """
    lines = [line.partition("  #")[0].strip() for line in record.read_text().splitlines()]
    recorded = {line for line in lines if line and not line.startswith("total ")}
    fewest = next(int(line.removeprefix("total ")) for line in lines if line.startswith("total "))
    assert failing - recorded == set(), f"these passed before:\n{output}"
    assert recorded - failing == set(), f"these pass now: delete their lines in {record.name}"
    assert total >= fewest, f"{total} cases ran, {fewest} are recorded:\n{output}"
