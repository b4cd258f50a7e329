"""The doctor's check of the store of log lines."""

from pathlib import Path

import msgspec

from broker.logs.lines import StoredLine, place_of
from broker.logs.segment import StreamPosition
from broker.logs.store import FOLDER, LogStore, StoreLimits, segment_paths
from schemas.logs import LogRecord
from schemas.settings.log import Log, LogStoreSettings
from schemas.settings.tree import Settings
from schemas.settings.types import Size
from services.doctor.finding import FindingLevel
from services.doctor.log_store import look_at_log_store


def with_store(**changes: object) -> Settings:
    return msgspec.structs.replace(Settings(), log=Log(store=LogStoreSettings(**changes)))  # type: ignore[arg-type]  # a row of values for any field


def test_a_store_with_and_without_a_writer(tmp_path: Path) -> None:
    store = LogStore(tmp_path / FOLDER, StoreLimits(10**9, 1 << 40, 0))
    store.open()
    line = StoredLine.of(place_of(0, 1, 0), LogRecord(1, "info", "edges", "", "x"))
    store.append([line], {"LOGS": StreamPosition("made", 1)}, {})

    [written] = look_at_log_store(Settings(), tmp_path, is_running=True)
    [large] = look_at_log_store(with_store(max_size=Size(1000)), tmp_path, is_running=True)
    store.close()
    [unwritten] = look_at_log_store(Settings(), tmp_path, is_running=True)
    [stopped] = look_at_log_store(Settings(), tmp_path, is_running=False)

    assert (written.level, written.text) == (FindingLevel.OK, "1 lines, 0 MiB of 1,024 MiB")
    assert large.level is FindingLevel.WARNING
    assert (unwritten.level, "no process writes" in unwritten.text) == (FindingLevel.WARNING, True)
    assert stopped.level is FindingLevel.OK


def test_stores_that_are_missing_broken_or_off(tmp_path: Path) -> None:
    [missing] = look_at_log_store(Settings(), tmp_path, is_running=True)
    [off] = look_at_log_store(with_store(enabled=False), tmp_path, is_running=True)
    store = LogStore(tmp_path / FOLDER, StoreLimits(10**9, 1 << 40, 0))
    store.open()
    store.close()
    [path] = segment_paths(tmp_path / FOLDER)
    path.rename(path.with_suffix(".broken"))
    [broken] = look_at_log_store(Settings(), tmp_path, is_running=False)

    assert (missing.level, off.level) == (FindingLevel.OK, FindingLevel.OK)
    assert "log.store.enabled" in off.text
    assert broken.level is FindingLevel.WARNING
    assert ".broken" in broken.cure
