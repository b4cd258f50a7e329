"""Extensions of a package of their own: `headwater-postgis` beside the embedded server."""

from pathlib import Path

import pytest

from services.supervisor.binaries import find_postgres
from services.supervisor.postgres import added_extensions
from services.supervisor.postgres.added_extensions import added_folder, names
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.extensions import extension_files
from services.supervisor.postgres.server import configuration


@pytest.fixture
def package(open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package, as `pip install` leaves it."""
    folder = open_tmp / "headwater_postgis"
    (folder / "share" / "extension").mkdir(parents=True)
    (folder / "share" / "extension" / "postgis.control").write_text("default_version = '3.6.4'\n")
    (folder / "lib").mkdir()
    (folder / "lib" / "postgis-3.so").write_bytes(b"module")
    (folder / "__init__.py").touch()
    (open_tmp / "headwater_postgis-3.6.4.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(open_tmp))
    return folder


def test_the_server_finds_the_package_and_its_extensions_are_not_refused(package: Path) -> None:
    added = added_folder(find_postgres(), None, print)
    text = configuration(Cluster(Path("/data/postgres"), find_postgres(), None), 5555, {}, added)
    server = find_postgres().parent / "share" / "extension"

    assert added == package
    assert f"extension_control_path = '/data/postgres:{package}/share:$system'" in text
    assert f"dynamic_library_path = '$libdir:{package}/lib'" in text
    assert "postgis.control" in dict(extension_files(server))
    assert "postgis.control" not in dict(extension_files(server, names(added)))
    assert "postgis_raster.control" in dict(extension_files(server, names(added)))


def test_a_package_that_the_servers_user_cannot_reach_is_copied_once(
    package: Path, open_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(added_extensions, "may_reach", lambda *_, **__: False)

    added = added_folder(find_postgres(), None, lines.append, open_tmp / "shared")
    again = added_folder(find_postgres(), None, lines.append, open_tmp / "shared")

    assert added == again == open_tmp / "shared" / "headwater-postgis-3.6.4"
    assert (added / "lib" / "postgis-3.so").read_bytes() == b"module"
    assert len(lines) == 1
    assert str(package) in lines[0]


def test_a_server_of_the_machine_has_its_own(package: Path) -> None:
    del package

    assert added_folder(Path("/usr/lib/postgresql/17/bin"), None, print) is None
