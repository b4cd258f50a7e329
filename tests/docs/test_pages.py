"""The pages that are sessions, word for word, in a plain shell, one after another on one platform (see walk.py)."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT
from tests.docs.walk import COMMANDS, is_shown, walk
from tests.platform import Platform, platform

DOCS = ROOT / "docs"

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node.js is not on this machine"),
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform(in_project=True) as one:
        (one.data.parent / ".venv").symlink_to(COMMANDS.parent)
        yield one


def test_first_steps_do_what_they_say(running_platform: Platform) -> None:
    walk(DOCS / "first-steps.md", running_platform, running_platform.data.parent, is_pasted=True)


@pytest.mark.parametrize(
    "name", ["rest", "accounts", "storage", "history", "access", "official-command-line", "mcp"]
)
def test_a_page_does_what_it_says_behind_the_first_steps(name: str, running_platform: Platform) -> None:
    path = f"{COMMANDS}:{os.environ['PATH']}"

    walk(
        DOCS / f"{name}.md",
        running_platform,
        running_platform.data.parent,
        PATH=path,
        NODE_OPTIONS="--experimental-websocket",
    )


@pytest.mark.parametrize(
    ("shows", "output", "expected"),
    [
        ("a\nb\n", "ab", True),
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "ab", False),
        ("b\n", "ab", False),
        ('{"Id":"...","Key":"k"}\n', '{"Id":"5f","Key":"k"}', True),
        ('{"Id":"..."}\n', '{"Id":"5f","Key":"k"', False),
    ],
)
def test_a_page_shows_all_that_is_printed(shows: str, output: str, expected: bool) -> None:
    assert is_shown(shows, output) is expected
