"""The README's two minutes, as a newcomer types them: the shell's lines, and the Python client's."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, block, shell
from tests.platform import Platform, platform

README = (ROOT / "README.md").read_text()

pytestmark = pytest.mark.xdist_group("clients")


@pytest.fixture(scope="module")
def place() -> Iterator[Platform]:
    with platform() as one:
        yield one


@pytest.fixture(scope="module")
def installed_clients() -> Path:
    """The folder of the official JavaScript client, in the version that the tests pin."""
    home = ROOT / "tests" / "conformance"
    if not (home / "node_modules" / "@supabase" / "supabase-js").exists():
        command = ["npm", "ci", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=home, check=True, capture_output=True, timeout=180)
    return home / "node_modules"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples, with the clients that the conformance tests have installed."""
    left_out = shutil.ignore_patterns("node_modules")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=left_out)
    return tmp_path


def test_the_shell_s_lines_answer_with_the_example_s_rows(place: Platform, folder: Path) -> None:
    lines = block(README, "sh", "curl").replace("alias headwater=.venv/bin/headwater\n", "")

    shell(place, folder, lines.split("\ncurl")[0])
    place.wait_for_catalog("todos")
    answers = shell(place, folder, lines)

    assert '"title":"Measure the river"' in answers
    assert "message" not in answers


@pytest.mark.skipif(shutil.which("node") is None, reason="the JavaScript client needs Node")
def test_the_javascript_example_shows_two_people_their_own_rows(
    place: Platform, folder: Path, installed_clients: Path
) -> None:
    lines = (
        block(README, "sh", "curl").replace("alias headwater=.venv/bin/headwater\n", "").split("\ncurl")[0]
    )
    (folder / "examples" / "todos" / "node_modules").symlink_to(installed_clients)
    shell(place, folder, lines)
    place.wait_for_catalog("todos")

    shown = shell(place, folder, lines, block(README, "sh", "npm install").replace("npm install && ", ""))

    assert "Ada sees [{" in shown
    assert "Grace sees []" in shown
    assert "Open now 0" in shown


def test_the_python_client_writes_and_reads(place: Platform, folder: Path) -> None:
    lines = (
        block(README, "sh", "curl").replace("alias headwater=.venv/bin/headwater\n", "").split("\ncurl")[0]
    )
    shell(place, folder, lines)
    place.wait_for_catalog("todos")
    code = block(README, "python", "create_client").replace("http://127.0.0.1:54321", place.url)
    script = folder / "snippet.py"
    script.write_text(code)

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "Write it down" in done.stdout
