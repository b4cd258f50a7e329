"""What a start checks and passes on for continuous backup."""

import base64

import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.settings.backup import Backup
from schemas.settings.tree import Db, Settings
from services.supervisor.archive import check_archive_settings, server_settings
from services.supervisor.errors import StartRefused
from services.supervisor.recovery import recovery_settings
from tests.services.supervisor.recovery_plans import plan

KEY = Secret(base64.b64encode(bytes(32)).decode())


def _settings(key: Secret | None = KEY, **server: str) -> Settings:
    backup = Backup(continuous=True, path="/mnt", key=key)
    return Settings(backup=backup, db=Db(settings=server))


def test_a_start_without_a_key_is_refused_with_the_command_that_makes_one() -> None:
    with pytest.raises(StartRefused, match="headwater keys --backup"):
        check_archive_settings(_settings(None))
    check_archive_settings(Settings())


@pytest.mark.parametrize(
    ("name", "value"), [("wal_level", "minimal"), ("fsync", "off"), ("full_page_writes", "OFF")]
)
def test_server_settings_that_make_useless_backups_are_refused(name: str, value: str) -> None:
    with pytest.raises(StartRefused, match=name):
        check_archive_settings(_settings(**{name: value}))


def test_the_server_keeps_as_much_log_as_the_setting_says() -> None:
    assert server_settings(_settings())["max_slot_wal_keep_size"] == "1024MB"
    assert server_settings(_settings(max_slot_wal_keep_size="2GB"))["max_slot_wal_keep_size"] == "2GB"
    assert server_settings(msgspec.structs.replace(Settings())) == {}


def test_the_server_summarizes_its_log_for_incremental_base_backups() -> None:
    assert server_settings(_settings())["summarize_wal"] == "on"
    assert server_settings(_settings(summarize_wal="off"))["summarize_wal"] == "off"
    none = msgspec.structs.replace(_settings(), backup=Backup(continuous=True, key=KEY, incrementals=0))
    assert "summarize_wal" not in server_settings(none)


def test_a_recovery_runs_no_command_that_does_anything() -> None:
    settings = recovery_settings(plan({"recovery_target_time": "2026-11-22 10:15:00.000+00"}))

    assert settings["restore_command"] == "false"
    assert settings["recovery_target_time"] == "2026-11-22 10:15:00.000+00"
