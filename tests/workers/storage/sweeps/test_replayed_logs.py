"""After a log of short blobs was replayed, rows of its time whose files are lost are named; else its note goes."""

import pytest

from broker.blobs.blob_names import blob
from broker.blobs.short_log_notes import ShortLogNote, read_notes, remove_note, write_note
from schemas.settings.storage import Storage
from schemas.settings.tree import Settings
from services.doctor.finding import FindingLevel
from services.doctor.machine import look_at_short_log
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.sweeps import replayed_logs as module
from workers.storage.sweeps.replayed_logs import ObjectsLost, compare_replayed_logs


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    monkeypatch.setattr(module, "observe", seen.append)
    return seen


async def test_lost_objects_are_named(
    storage_pool: StoragePool, observed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CLOCKS_S", 0.0)
    monkeypatch.setattr(module, "_BATCH", 3)
    folder = storage_pool.blobs.log_folder
    assert folder is not None
    folder.mkdir(exist_ok=True)
    bucket, database = await storage_pool.bucket(), storage_pool.store.database
    since = await storage_pool.value("select extract(epoch from clock_timestamp())::float8")
    names = [f"letters/{number}" for number in range(8)]
    for name in names:
        await storage_pool.uploaded(f"/object/{bucket}/{name}")
    paths = [
        storage_pool.blobs.local_path(blob(bucket, await storage_pool.version(bucket, name) or ""))
        for name in names
    ]
    until = await storage_pool.value("select extract(epoch from clock_timestamp())::float8")
    note = ShortLogNote("x", since, until)

    write_note(folder, note)
    assert await compare_replayed_logs(database, storage_pool.blobs) == 0
    assert read_notes(folder) == [], "all is whole"

    write_note(folder, ShortLogNote("x", since, until, absent=3))
    assert await compare_replayed_logs(database, storage_pool.blobs) == 0
    assert [(left.absent, left.is_compared) for left in read_notes(folder)] == [(3, True)]

    paths[1].unlink()
    paths[4].write_bytes(b"")
    paths[6].write_bytes(bytes(paths[6].stat().st_size))
    write_note(folder, note)
    assert await compare_replayed_logs(database, storage_pool.blobs) == 3
    (left,) = read_notes(folder)
    assert sorted(left.lost) == [f"{bucket}/letters/{number}" for number in (1, 4, 6)]
    assert [type(seen) for seen in observed] == [ObjectsLost]
    assert await compare_replayed_logs(database, storage_pool.blobs) == 0, "it is compared once"
    (finding,) = look_at_short_log(Settings(storage=Storage(path=str(folder.parent))), folder)
    assert finding.level is FindingLevel.ERROR
    assert f"3 objects have lost their bytes: {left.lost[0]}" in finding.text
    remove_note(folder, left)
