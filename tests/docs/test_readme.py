"""The README's two minutes, as a newcomer types them: the second terminal's lines in a plain shell, and the Python client's."""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT, block
from tests.docs.walk import COMMANDS, PageShell, Step, is_shown, steps
from tests.platform import Platform, platform

README = (ROOT / "README.md").read_text()

pytestmark = [pytest.mark.process_group("clients"), pytest.mark.timeout(300)]


@pytest.fixture(params=["sh", "bash"])
def terminal(request: pytest.FixtureRequest) -> Iterator[tuple[PageShell, Platform]]:
    """A second terminal in a folder with the examples and the environment of `make start`, whose platform runs."""
    with platform(in_project=True) as running_platform:
        folder = running_platform.data.parent
        (folder / ".venv").symlink_to(COMMANDS.parent)
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("node_modules"))
        session = PageShell(folder, {}, request.param)
        try:
            yield session, running_platform
        finally:
            session.close()


def test_the_second_terminal_answers_as_the_readme_shows(terminal: tuple[PageShell, Platform]) -> None:
    session, running_platform = terminal
    first, loading, client, *_ = steps(README)

    answers = session.run(loading.text)

    assert first.text == "make start\n"
    assert loading.shows is not None
    assert is_shown(loading.shows, answers), answers
    if shutil.which("npm") is not None:
        _shows_two_people_their_own_rows(client, session)
    _writes_and_reads_in_python(running_platform)


def _shows_two_people_their_own_rows(client: Step, session: PageShell) -> None:
    shown = session.run(client.text)

    assert "Ada sees [{" in shown
    assert "Grace sees []" in shown
    assert "Open now 0" in shown


def _writes_and_reads_in_python(running_platform: Platform) -> None:
    code = block(README, "python", "create_client").replace("http://127.0.0.1:54321", running_platform.url)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "Write it down" in done.stdout
