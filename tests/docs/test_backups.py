"""The page docs/backups.md, word for word in a plain shell: a moment is lost, restored, tried and put in place."""

import os
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.walk import COMMANDS, PageShell, is_shown, steps
from tests.platform import free_port, headwater

PAGE = (ROOT / "docs" / "backups.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.process_group("recovery"), pytest.mark.timeout(300)]


def test_a_moment_comes_back_as_the_page_says(tmp_path: Path) -> None:
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(path.stat().st_mode | 0o011)
    environment = {"PATH": f"{COMMANDS}:{os.environ['PATH']}", "HEADWATER_API_PORT": str(free_port())}
    shell = PageShell(tmp_path, environment)  # with a port for the API all others are free ones
    try:
        for step in steps(PAGE):
            output = shell.run(step.text)
            assert step.shows is None or is_shown(step.shows, output), (step, output)
        assert len(list(tmp_path.glob(".headwater-before-*"))) == 1
    finally:
        shell.close()
        for data in (".headwater", "restored"):
            headwater("stop", "--data", str(tmp_path / data))
