"""Reports: files of the project folder that name snippets and how they are shown."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.management.conftest import Client

TILE = {"snippet": "Rows of today", "shown_as": "line", "x": "day", "y": "total"}


@pytest.fixture
def project(owner: Client, tmp_path: Path) -> Client:
    """The owner at a worker that knows a project folder."""
    settings = dataclasses.replace(owner.worker.settings, project_folder=tmp_path)
    return dataclasses.replace(owner, worker=dataclasses.replace(owner.worker, settings=settings))


async def test_a_report_is_saved_read_listed_and_removed(project: Client, tmp_path: Path) -> None:
    file = tmp_path / "reports" / "Growth.json"
    report = {"tiles": [TILE], "range_s": 3600, "refresh_s": 30}

    await project.run("reports.save", name="Growth", report=report)
    read = await project.run("reports.read", name="Growth")

    assert json.loads(file.read_text()) == report
    assert read["report"] == report
    assert [item["name"] for item in (await project.run("reports.list"))["reports"]] == ["Growth"]
    assert await project.refused("reports.save", name="Growth", report={}) == (409, "report_exists")
    await project.run("reports.remove", name="Growth")
    assert not file.exists()


@pytest.mark.parametrize(
    "report",
    [
        {"tiles": [TILE] * 25},
        {"tiles": [TILE | {"snippet": "../config"}]},
        {"tiles": [TILE | {"shown_as": "pie"}]},
        {"tiles": [TILE | {"title": "x" * 121}]},
        {"range_s": 1},
        {"refresh_s": 1},
    ],
)
async def test_what_is_no_report_is_refused(project: Client, tmp_path: Path, report: dict[str, Any]) -> None:
    assert await project.refused("reports.save", name="a", report=report) == (400, "invalid_arguments")
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_no_report_says_so(project: Client, tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "broken.json").write_text('{"tiles": 7}')

    (tmp_path / "reports" / "hasty.json").write_text('{"refresh_s": 1}')
    (tmp_path / "reports" / "large.json").write_text(json.dumps({"tiles": [TILE] * 25}))

    for name in ("broken", "hasty", "large"):
        assert await project.refused("reports.read", name=name) == (409, "report_unreadable"), name


async def test_a_folder_of_reports_that_is_a_link_leads_nowhere_else(
    project: Client, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "package.json").write_text("{}")
    (tmp_path / "reports").symlink_to(elsewhere)

    for name, arguments in (
        ("reports.list", {}),
        ("reports.read", {"name": "package"}),
        ("reports.save", {"name": "package", "report": {}, "replaces": True}),
        ("reports.remove", {"name": "package"}),
    ):
        assert await project.refused(name, **arguments) == (409, "folder_refused"), name
    assert (elsewhere / "package.json").read_text() == "{}"
    (tmp_path / "reports").unlink()
    (tmp_path / "shared").mkdir()
    (tmp_path / "reports").symlink_to(tmp_path / "shared")
    assert await project.run("reports.save", name="a", report={})
