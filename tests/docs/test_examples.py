"""The READMEs of the examples, word for word, in the folders where they stand (see walk.py)."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.walk import COMMANDS, PageShell, steps
from tests.platform import Platform, free_port, headwater, platform

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node.js is not on this machine"),
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(300),
]
PATH = f"{COMMANDS}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform in the folder above the examples."""
    with platform(in_project=True) as one:
        left_out = shutil.ignore_patterns("node_modules")
        shutil.copytree(ROOT / "examples", one.data.parent / "examples", ignore=left_out)
        yield one


def printed(folder: Path, **environment: str) -> str:
    """Run the first block of an example's README in its folder; return what it prints."""
    first = steps((folder / "README.md").read_text(encoding="utf-8"))[0]
    session = PageShell(folder, {"PATH": PATH, **environment})
    try:
        return session.run(first.text)
    finally:
        session.close()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("auth", "signed in"),
        ("chat", "nothing lost, nothing twice"),
        ("gallery", "gallery.html shows 3 pictures for an hour"),
    ],
)
def test_an_example_does_what_its_readme_says(name: str, shown: str, running_platform: Platform) -> None:
    assert shown in printed(running_platform.data.parent / "examples" / name)


def test_the_functions_run_on_a_platform_of_their_own_folder(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "functions", tmp_path / "functions")
    try:
        output = printed(folder, HEADWATER_API_PORT=str(free_port()))
    finally:
        headwater("stop", "--data", str(folder / ".headwater"))

    assert '"message":"Hello Ada!"' in output
    assert "water the plants" in output
    assert "data:" in output
