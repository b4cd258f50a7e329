from pathlib import Path

import pytest

from schemas.settings.tree import Pooler
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.pooler import find_pooler, pooler_config


def test_configuration_has_the_settings_and_serves_the_database_alone() -> None:
    settings = Pooler(pool_mode="session", default_pool_size=7, max_client_conn=9)

    lines = pooler_config(
        settings, 6543, "/a folder/it's", 5432, Path("/a folder/users.txt"), Path("/a folder/access.conf")
    ).splitlines()

    assert [line for line in lines if line.startswith(("postgres", "*"))] == [
        "postgres = host='/a folder/it''s' port=5432 dbname=postgres auth_user=pgbouncer"
    ]
    assert {
        "listen_addr = 127.0.0.1",
        "listen_port = 6543",
        "unix_socket_dir = ",
        "auth_type = hba",
        "auth_hba_file = /a folder/access.conf",
        "pool_mode = session",
        "max_db_connections = 7",
        "max_client_conn = 9",
        "auth_file = /a folder/users.txt",
    } <= set(lines)


def test_a_machine_without_the_program_learns_which_package_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.supervisor.postgres.pooler._MORE_PLACES", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(StartRefused, match=r"Install the package `pgbouncer`.*apt install pgbouncer"):
        find_pooler()
