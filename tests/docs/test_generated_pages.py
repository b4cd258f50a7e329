"""The pages that scripts generate are those of the present code."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


@pytest.mark.parametrize("script", ["configuration", "management-reference"])
def test_generated_pages_are_up_to_date(script: str) -> None:
    command = [sys.executable, f"scripts/{script}", "--check"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_stale_missing_and_left_over_pages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "management-reference"))
    main = script["main"]
    main.__globals__["FOLDER"] = tmp_path
    monkeypatch.setattr(sys, "argv", ["management-reference"])
    assert main() == 0
    (tmp_path / "left-over.md").write_text("# An area without operations\n", encoding="utf-8")
    (tmp_path / "rows.md").write_text("# Rows\n", encoding="utf-8")
    (tmp_path / "sql.md").unlink()

    monkeypatch.setattr(sys, "argv", ["management-reference", "--check"])

    assert main() == 1
    assert ": left-over.md, rows.md, sql.md out of date" in capsys.readouterr().err
