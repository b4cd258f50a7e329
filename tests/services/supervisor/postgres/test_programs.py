"""Which server programs a start chooses, and what it writes for older versions of them."""

from pathlib import Path

import pytest

from services.supervisor.data_folder.folder import create_data_folder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.programs import choose_programs, chosen_programs, version_text
from services.supervisor.postgres.server import configuration


def programs_of(root: Path, version: str) -> Path:
    folder = root / "lib" / version / "bin"
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folder / name).write_text(
            f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Debian {version}-1)'\n"
        )
        (folder / name).chmod(0o755)
    return folder


def test_a_chosen_server_is_that_of_later_starts_until_another_is_named(tmp_path):
    folder, programs = create_data_folder(tmp_path / "data"), programs_of(tmp_path, "17.2")

    choose_programs(folder, "")
    nothing = chosen_programs(folder)
    choose_programs(folder, str(programs))
    choose_programs(folder, "")

    assert (nothing, chosen_programs(folder), version_text(programs)) == (None, programs, "17.2")
    choose_programs(folder, "embedded")
    assert chosen_programs(folder) is None


@pytest.mark.parametrize(
    ("version", "words"), [("14.1", "is Postgres 14; 15 to 18"), ("19.0", "is Postgres 19; 15 to 18")]
)
def test_versions_that_were_not_tried_are_refused(tmp_path, version, words):
    folder = create_data_folder(tmp_path / "data")

    with pytest.raises(StartRefused, match=words):
        choose_programs(folder, str(programs_of(tmp_path, version)))

    assert chosen_programs(folder) is None


def test_a_folder_without_a_server_or_with_a_broken_one_is_refused(tmp_path):
    folder, broken = create_data_folder(tmp_path / "data"), programs_of(tmp_path, "16.0")
    (broken / "postgres").write_text("#!/bin/sh\nexit 1\n")

    with pytest.raises(StartRefused, match="lacks postgres, initdb"):
        choose_programs(folder, str(tmp_path))
    with pytest.raises(StartRefused, match="does not run on this machine"):
        choose_programs(folder, str(broken))


@pytest.mark.parametrize(
    ("version", "absent"),
    [("15.4", {"io_workers", "extension_control_path", "summarize_wal"}), ("17.0", {"io_workers", "extension_control_path"}), ("18.1", set())],
)  # fmt: skip
def test_an_older_server_gets_only_settings_that_it_knows(tmp_path, version, absent):
    cluster = Cluster(tmp_path, programs_of(tmp_path, version), None)

    names = {
        line.partition(" ")[0] for line in configuration(cluster, 5432, {"summarize_wal": "on"}).splitlines()
    }

    assert {"io_workers", "extension_control_path", "summarize_wal"} - names == absent
