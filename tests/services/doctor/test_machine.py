"""Tests of what concerns the machine."""

import socket
from pathlib import Path

import pytest

from schemas.settings.reading import load_settings
from services.doctor import machine
from services.doctor.finding import FindingLevel
from services.supervisor.data_folder.folder import DataFolder


def _settings(**environment: str):
    return load_settings(b"", environment, source="none")[0]


def test_development_keys_are_fine_on_loopback_only() -> None:
    assert machine.look_at_keys(_settings()).level is FindingLevel.OK
    public = machine.look_at_keys(_settings(HEADWATER_GATEWAY_HOST="0.0.0.0"))
    assert public.level is FindingLevel.ERROR
    assert "HEADWATER_AUTH_JWT_SECRET" in public.text


def test_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        found = machine.look_at_ports(_settings(HEADWATER_API_PORT=port))

    assert found[0].level is FindingLevel.ERROR
    assert port in found[0].text


@pytest.mark.parametrize(
    ("now", "server", "level"),
    [
        (1e9, None, FindingLevel.ERROR),
        (1.8e9, 1.8e9 + 60, FindingLevel.ERROR),
        (1.8e9, 1.8e9 + 1, FindingLevel.OK),
    ],
)
def test_clock_that_cannot_be_right_is_an_error(
    now: float, server: float | None, level: FindingLevel
) -> None:
    assert machine.look_at_clock(now, server).level is level


def test_disk_is_looked_at_before_the_folder_is_made(tmp_path: Path) -> None:
    assert "MiB" in machine.look_at_disk(tmp_path / "not" / "yet").text


def test_folder_of_another_version_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    (tmp_path / "postgres" / "data" / "PG_VERSION").write_text("17\n")

    found = machine.look_at_folder(DataFolder(tmp_path), "18")

    assert found.level is FindingLevel.ERROR
    assert "17" in found.text


def test_foreign_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("x")

    assert machine.look_at_folder(DataFolder(tmp_path), "18").level is FindingLevel.ERROR


@pytest.mark.parametrize("name", ["lost+found", "logs"])
def test_folder_of_a_first_start_that_failed_and_an_empty_disk_are_fine(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    assert machine.look_at_folder(DataFolder(tmp_path), "18").level is FindingLevel.OK


def test_folder_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    assert machine.look_at_folder(DataFolder(tmp_path / "new"), "18").level is FindingLevel.OK


@pytest.mark.parametrize(
    ("holds", "accepted", "level"),
    [
        (True, "false", FindingLevel.OK),
        (False, "false", FindingLevel.ERROR),
        (False, "true", FindingLevel.WARNING),
    ],
)
def test_functions_without_a_wall_are_an_error(
    monkeypatch: pytest.MonkeyPatch, holds: bool, accepted: str, level: FindingLevel
) -> None:
    monkeypatch.setattr(machine, "can_confine_functions", lambda: holds)
    monkeypatch.setattr(machine, "landlock_abi", lambda: 7 if holds else 0)

    found, *bounds = machine.look_at_functions(
        _settings(HEADWATER_EDGE_RUNTIME_UNSAFE_WITHOUT_SANDBOX=accepted)
    )

    assert found.level is level
    assert [each.text.startswith("bounded by ") for each in bounds] == [True] * holds


def test_uploads_that_take_nearly_all_that_they_may_are_told(tmp_path: Path) -> None:
    settings = _settings(HEADWATER_STORAGE_STAGING_LIMIT="64MiB")
    folder = tmp_path / "storage" / "staging"
    folder.mkdir(parents=True)
    assert [each.level for each in machine.look_at_staging(settings, tmp_path)] == [FindingLevel.OK]
    with (folder / "left").open("wb") as file:
        file.truncate(60 * 1024 * 1024)

    found = machine.look_at_staging(settings, tmp_path)

    assert [each.level for each in found] == [FindingLevel.WARNING]
    assert "60 MiB" in found[0].text
    assert "64 MiB" in found[0].text
    assert machine.look_at_staging(_settings(HEADWATER_STORAGE_ENABLED="false"), tmp_path) == []
