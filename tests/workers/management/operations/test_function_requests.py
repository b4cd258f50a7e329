"""Kept requests of functions: one file of the project folder for each function."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.management.conftest import Client

REQUEST = {
    "name": "greets",
    "method": "POST",
    "path": "/",
    "headers": {"a": "b"},
    "body": "{}",
    "caller": "anon",
}


@pytest.fixture
def project(owner: Client, tmp_path: Path) -> Client:
    """The owner at a worker that knows a project folder."""
    settings = dataclasses.replace(owner.worker.settings, project_folder=tmp_path)
    return dataclasses.replace(owner, worker=dataclasses.replace(owner.worker, settings=settings))


async def test_requests_are_kept_with_the_function(project: Client, tmp_path: Path) -> None:
    assert await project.run("functions.requests", name="hello") == {"requests": [], "folder_is_known": True}

    await project.run("functions.keep_requests", name="hello", requests=[REQUEST])

    assert (await project.run("functions.requests", name="hello"))["requests"] == [REQUEST]
    file = tmp_path / "function-requests" / "hello.json"
    assert json.loads(file.read_text()) == [REQUEST]
    for unusable in ('[{"name": 7}]', json.dumps([REQUEST] * 51)):
        file.write_text(unusable)
        assert await project.refused("functions.requests", name="hello") == (409, "requests_unreadable")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "../config"},
        {"requests": [REQUEST] * 51},
        {"requests": [REQUEST | {"name": ""}]},
        {"requests": [REQUEST | {"body": "x" * (512 * 1024)}]},
    ],
)
async def test_what_cannot_be_kept_is_refused(
    project: Client, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    arguments = {"name": "hello", "requests": [REQUEST], **arguments}
    assert await project.refused("functions.keep_requests", **arguments) == (400, "invalid_arguments")
    assert list(tmp_path.iterdir()) == []
