"""When a platform of a clone builds its dashboard, and what it reports; the build itself is a small script here."""

import asyncio
import os
from pathlib import Path

import pytest

from services.supervisor.dashboard_build import DashboardBuild

SCRIPT = """
import os, pathlib, sys
static = pathlib.Path(sys.argv[0]).parents[1] / "services" / "dashboard" / "static"
static.mkdir(exist_ok=True)
(static / "index.html").write_text(" ".join(name for name in os.environ if name.startswith("HEADWATER_")))
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The sources of a dashboard, with npm packages that are no sources."""
    web = tmp_path / "services" / "dashboard" / "web"
    (web / "node_modules").mkdir(parents=True)
    (web / "main.tsx").write_text("page")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "dashboard").write_text(SCRIPT)
    return tmp_path


async def test_a_clone_is_built_once_and_again_when_a_source_changed(
    clone: Path, notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DB_PASSWORD", "secret")
    build = DashboardBuild(clone)
    web = clone / "services" / "dashboard" / "web"

    assert build.is_due()
    await build.run(notes, clone / "dashboard.log")
    assert not build.is_due()
    (web / "node_modules" / "installed").write_text("")
    _make_newer(web / "node_modules" / "installed")
    assert not build.is_due()
    (web / ".#main.tsx").symlink_to("user@machine.1234")
    build.is_due()
    (web / ".#main.tsx").unlink()
    _make_newer(web / "main.tsx")
    assert build.is_due()

    assert (clone / "services" / "dashboard" / "static" / "index.html").read_text() == ""
    assert [line.partition(":")[0] for line in notes.lines] == ["Dashboard", "Dashboard"]
    assert notes.warnings == []


async def test_a_build_that_fails_says_why(clone: Path, notes) -> None:
    (clone / "scripts" / "dashboard").write_text("import sys; sys.exit('no npm packages')")

    await DashboardBuild(clone).run(notes, clone / "dashboard.log")

    assert "no npm packages" in notes.warnings[0]
    assert "no npm packages" in (clone / "dashboard.log").read_text()


def test_an_installed_package_has_nothing_to_build(tmp_path: Path) -> None:
    assert not DashboardBuild(tmp_path).is_due()


def _make_newer(path: Path) -> None:
    later = path.stat().st_mtime + 60
    os.utime(path, (later, later))


async def test_a_stopped_platform_ends_its_build(clone: Path, notes, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = clone / "begun"
    monkeypatch.setenv("BEGUN", str(begun))
    (clone / "scripts" / "dashboard").write_text(
        "import os, pathlib, time; pathlib.Path(os.environ['BEGUN']).write_text(str(os.getpid())); time.sleep(600)"
    )
    build = asyncio.create_task(DashboardBuild(clone).run(notes, clone / "dashboard.log"))
    while not begun.exists() or not begun.read_text():
        await asyncio.sleep(0)
    build.cancel()
    await asyncio.wait({build})

    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
    assert notes.warnings == []
