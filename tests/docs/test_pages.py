"""The pages that are sessions, word for word, one after another on one platform (see walk.py)."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.walk import walk
from tests.platform import Platform, platform

DOCS = ROOT / "docs"

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
    pytest.mark.xdist_group("clients"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def place() -> Iterator[Platform]:
    with platform() as one:
        yield one


@pytest.mark.parametrize("name", ["first-steps", "rest", "accounts", "storage"])
def test_a_page_does_what_it_says(name: str, place: Platform, tmp_path: Path) -> None:
    walk(DOCS / f"{name}.md", place, tmp_path)
