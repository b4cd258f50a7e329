"""The doctor's check of shapes."""

import os
from pathlib import Path

import pytest

from schemas.settings.realtime import RealtimeSettings
from schemas.settings.sync import SyncSettings
from schemas.settings.tree import Settings
from schemas.settings.types import Count, Size
from schemas.sync import PLACE_FILE
from services.doctor.finding import FindingLevel
from services.doctor.shapes import look_at_shapes

NOW = 1_800_000_000.0
OK, WARNING, ERROR = FindingLevel


@pytest.mark.parametrize(
    ("sync", "realtime", "age_s", "is_running", "level", "text"),
    [
        ({}, True, 1, True, OK, "2 of 2,000 shapes, 3 MiB of 8,192 MiB"),
        ({}, True, 61, True, WARNING, "no process serves them"),
        ({}, True, 61, False, OK, "2 of 2,000 shapes"),
        ({"max_shapes": Count(2)}, True, 1, True, WARNING, "2 of 2 shapes"),
        ({"max_size": Size(3 * 1024 * 1024)}, True, 1, True, WARNING, "3 MiB of 3 MiB"),
        ({}, False, 1, True, WARNING, "realtime is switched off"),
        ({"enabled": False}, True, 1, True, OK, "switched off"),
        ({}, True, None, True, OK, "no shape was asked for yet"),
    ],
)
def test_shapes_have_a_process_and_room(
    tmp_path: Path, sync: dict, realtime: bool, age_s: int | None, is_running: bool, level: str, text: str
) -> None:
    folder = tmp_path / "sync"
    for name, size in (("a", 1024 * 1024), ("b", 2 * 1024 * 1024)):
        (folder / "shapes" / name).mkdir(parents=True)
        (folder / "shapes" / name / "snapshot").write_bytes(bytes(size))
    if age_s is not None:
        (folder / PLACE_FILE).write_text("{}")
        os.utime(folder / PLACE_FILE, (NOW - age_s, NOW - age_s))
    settings = Settings(sync=SyncSettings(**sync), realtime=RealtimeSettings(enabled=realtime))

    [finding] = look_at_shapes(settings, tmp_path, NOW, is_running=is_running)

    assert (finding.level, text in finding.text) == (level, True), finding
    assert bool(finding.cure) == (level != OK)
