"""The documentation as operations: sections by words, and pages by name."""

import pytest

from tests.workers.management.conftest import Client


async def test_sections_are_found_and_their_page_read(owner: Client) -> None:
    matches = await owner.run("docs.search", text="resumable upload", limit=3)
    page = await owner.run("docs.read", page=matches[0]["page"])

    assert len(matches) == 3
    assert "upload" in matches[0]["heading"].lower()
    assert page["text"].startswith("# ")


@pytest.mark.parametrize("name", ["../config", "index", "", "a\0"])
async def test_what_is_no_page_is_not_read(owner: Client, name: str) -> None:
    assert await owner.refused("docs.read", page=name) == (404, "not_found")
