"""Snippets: files of the project folder, by names that cannot leave it."""

import dataclasses
from pathlib import Path

import pytest

from tests.workers.management.conftest import Client


@pytest.fixture
def project(owner: Client, tmp_path: Path) -> Client:
    """The owner at a worker that knows a project folder."""
    return _at(owner, tmp_path)


def _at(client: Client, folder: Path | None) -> Client:
    settings = dataclasses.replace(client.worker.settings, project_folder=folder)
    return dataclasses.replace(client, worker=dataclasses.replace(client.worker, settings=settings))


async def test_a_snippet_is_saved_read_listed_and_removed(project: Client, tmp_path: Path) -> None:
    file = tmp_path / "snippets" / "Rows of today.sql"
    assert await project.run("snippets.list") == {"snippets": [], "folder_is_known": True}

    await project.run("snippets.save", name="Rows of today", text="select 'é'")
    listed = await project.run("snippets.list")
    read = await project.run("snippets.read", name="Rows of today")

    assert [(item["name"], item["bytes"]) for item in listed["snippets"]] == [("Rows of today", 11)]
    assert read == {"name": "Rows of today", "text": "select 'é'"}
    assert file.read_text() == "select 'é'"

    await project.run("snippets.remove", name="Rows of today")
    assert not file.exists()
    assert await project.refused("snippets.read", name="Rows of today") == (404, "not_found")


async def test_a_snippet_is_replaced_only_on_demand(project: Client) -> None:
    await project.run("snippets.save", name="a", text="select 1")
    refused = await project.refused("snippets.save", name="a", text="select 2")
    await project.run("snippets.save", name="a", text="select 3", replaces=True)

    assert refused == (409, "snippet_exists")
    assert (await project.run("snippets.read", name="a"))["text"] == "select 3"


@pytest.mark.parametrize("operation", ["snippets.save", "snippets.read", "snippets.remove"])
async def test_names_do_not_leave_the_folder(project: Client, operation: str, tmp_path: Path) -> None:
    more = {"text": "select 1"} if operation == "snippets.save" else {}
    for name in ("", "../config", "a/b", ".hidden", "a\nb", "a ", "a.", "x" * 101, "a\0"):
        assert await project.refused(operation, name=name, **more) == (400, "invalid_arguments"), name
    assert list(tmp_path.iterdir()) == []


async def test_a_link_is_not_followed(project: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of others")
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "link.sql").symlink_to(secret)

    assert await project.refused("snippets.read", name="link") == (409, "folder_refused")
    assert (await project.run("snippets.list"))["snippets"] == []


async def test_without_a_folder_it_is_said(owner: Client) -> None:
    client = _at(owner, None)

    assert await client.run("snippets.list") == {"snippets": [], "folder_is_known": False}
    assert await client.refused("snippets.save", name="a", text="select 1") == (409, "no_folder")


async def test_too_long_a_text_is_refused(project: Client) -> None:
    refused = await project.refused("snippets.save", name="a", text="x" * (512 * 1024 + 1))

    assert refused == (400, "invalid_arguments")
