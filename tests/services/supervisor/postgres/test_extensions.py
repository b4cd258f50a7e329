from pathlib import Path

from services.supervisor.binaries import find_postgres
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.extensions import (
    MADE_TRUSTED,
    extension_files,
    fill_extension_folder,
    trusted,
)


def test_a_control_file_becomes_trusted():
    assert trusted("default_version = '1.0'\n") == "default_version = '1.0'\ntrusted = true\n"
    assert trusted("trusted = false\nrelocatable = true\n") == "relocatable = true\ntrusted = true\n"


def test_only_the_servers_own_extensions_that_were_looked_at_are_made_trusted(tmp_path: Path):
    for name in ("plpython3u", "dblink"):
        (tmp_path / f"{name}.control").write_text("default_version = '1.0'\n")
        (tmp_path / f"{name}--1.0.sql").write_text("-- compiled")

    files = dict(extension_files(tmp_path))

    assert files["dblink.control"] == b"default_version = '1.0'\ntrusted = true\n"
    assert "plpython3u.control" not in files


def test_the_servers_own_extensions_are_offered_but_for_those_that_read_files():
    server = find_postgres().parent / "share" / "extension"
    files = dict(extension_files(server))

    assert b"trusted = true" in files["vector.control"]
    assert b"trusted = true" in files["moddatetime.control"]
    assert "moddatetime--1.0.sql" in files
    assert not {"file_fdw.control", "pageinspect.control", "pg_walinspect.control"} & files.keys()
    assert "pg_walinspect" not in MADE_TRUSTED


def test_every_control_file_has_a_script():
    server = find_postgres().parent / "share" / "extension"
    names = [name for name, _ in extension_files(server)]

    assert all(
        any(script.startswith(name.removesuffix(".control") + "--") for script in names)
        for name in names
        if name.endswith(".control")
    )


def test_what_a_killed_start_left_does_not_hinder_the_next_one(tmp_path: Path):
    cluster = Cluster(tmp_path, find_postgres(), None)
    for left in (".extension", ".extension-old", "extension"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "left.control").write_text("half")

    fill_extension_folder(cluster)

    assert [path.name for path in tmp_path.iterdir()] == ["extension"]
    assert not (tmp_path / "extension" / "left.control").exists()
    assert (tmp_path / "extension" / "vector.control").exists()
