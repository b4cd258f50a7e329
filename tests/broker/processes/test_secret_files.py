"""Tests of settings that lie in files."""

from pathlib import Path

import pytest

from broker.processes.secret_files import with_file_values
from schemas.settings.tree import SettingsError


def test_value_stands_in_the_file_without_its_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("nats://a:b@c:4222\n")

    found = with_file_values({"HEADWATER_BROKER_URL_FILE": str(tmp_path / "url"), "HOME": "x"})

    assert found == {"HEADWATER_BROKER_URL": "nats://a:b@c:4222", "HOME": "x"}


def test_url_of_the_migrations_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://x")

    found = with_file_values({"HEADWATER_MIGRATE_URL_FILE": str(tmp_path / "url")})

    assert found == {"HEADWATER_MIGRATE_URL": "postgresql://x"}


def test_names_that_are_no_settings_stay() -> None:
    given = {"SSL_CERT_FILE": "/etc/x", "HEADWATER_ALIVE_FILE": "/tmp/alive"}

    assert with_file_values(given) == given


def test_file_that_is_missing_is_told_by_its_name() -> None:
    with pytest.raises(SettingsError, match=r"HEADWATER_DB_URL_FILE names /nowhere, which cannot be read"):
        with_file_values({"HEADWATER_DB_URL_FILE": "/nowhere"})


def test_value_and_file_exclude_one_another(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("a secret that is not told")

    with pytest.raises(SettingsError, match="are both set") as refused:
        with_file_values({"HEADWATER_DB_URL": "x", "HEADWATER_DB_URL_FILE": str(tmp_path / "url")})

    assert "a secret" not in str(refused.value)
