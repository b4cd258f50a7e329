"""The projects of a server on the disk."""

from pathlib import Path

import pytest

from services.projects.model import FrontOptions, ProjectRecord
from services.projects.registry import (
    ServerFolder,
    add_project,
    find_project,
    forget_project,
    lock_server,
    read_front,
    read_projects,
    running_server_state,
    write_project,
)
from services.supervisor.errors import StartRefused

_URL = "http://localhost:54330"


def project(folder: ServerFolder, name: str, *hosts: str) -> ProjectRecord:
    return add_project(folder, ProjectRecord(name, str(folder.project(name)), 0.0, list(hosts)), _URL)


def test_projects_are_added_found_changed_and_forgotten(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path / "server")
    shop = project(folder, "shop", "Shop.Example.org")
    project(folder, "blog")

    changed = write_project(folder, ProjectRecord("shop", shop.folder, shop.created_at, []), _URL)
    assert [record.name for record in read_projects(folder)] == ["blog", "shop"]
    assert (shop.hosts, find_project(folder, "shop")) == (["shop.example.org"], changed)
    assert (folder.project("shop") / "project.json").stat().st_mode & 0o777 == 0o600
    (folder.project("blog") / "note").touch()
    for name in ("shop", "blog"):
        forget_project(folder, find_project(folder, name))

    assert read_projects(folder) == []
    assert (folder.project("shop").exists(), folder.project("blog").exists()) == (False, True)


def test_names_hosts_and_folders_are_taken_once(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    shop = project(folder, "shop", "shop.example.org")

    for taken in (
        ProjectRecord("shop", str(tmp_path / "elsewhere"), 0.0),
        ProjectRecord("blog", shop.folder, 0.0),
        ProjectRecord("blog", str(tmp_path / "b"), 0.0, ["shop.example.org"]),
        ProjectRecord("../blog", str(tmp_path / "b"), 0.0),
    ):
        with pytest.raises(StartRefused):
            add_project(folder, taken, _URL)
    with pytest.raises(StartRefused, match="Projects: shop"):
        find_project(folder, "blog")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    project(folder, "shop")
    (folder.project("shop") / "project.json").write_text("{")

    with pytest.raises(StartRefused, match=r"project\.json is damaged"):
        read_projects(folder)


def test_one_server_runs_in_a_folder(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    assert running_server_state(folder) is None
    assert read_front(folder) == FrontOptions()
    lock_server(folder)

    with pytest.raises(StartRefused):
        lock_server(folder)
