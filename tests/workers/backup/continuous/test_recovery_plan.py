"""Which base backup and which pieces of the log a restore reads, and what the retention deletes."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from broker.archive.store import open_archive_store
from schemas.settings.backup import Backup
from workers.backup.continuous.archive import (
    Archive,
    ArchiveInfo,
    BaseInfo,
    CoveredMoment,
    MigrationMark,
    MigrationMarks,
    WalPiece,
    piece_name,
    segment_name,
)
from workers.backup.continuous.base_links import parent_of_next
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.recovery_plan import chain, plan_recovery
from workers.backup.continuous.retention import SupersededFiles, apply_retention, superseded

KEYS = [os.urandom(32)]
ID = "headwater_archive_0123456789ab"
BEGAN = 1_795_000_000.0
SEGMENT = 16 * 1024 * 1024


def _base(number: int) -> BaseInfo:
    """Return a base backup that takes from 10 to 20 s behind the hour `number`, 1000 bytes of log an hour."""
    start, at = number * 1000 + 100, BEGAN + number * 3600
    return BaseInfo(f"base{number}", start, start + 50, at + 10, at + 20, 5000, 3, "1")


def _piece(start: int, end: int, time: float) -> WalPiece:
    return WalPiece(start, end, time, f"{ID}/{piece_name(start, end, time)}", end - start)


def _hours(count: int) -> list[WalPiece]:
    """Return ten pieces an hour."""
    return [
        _piece(number * 100, number * 100 + 100, BEGAN + number * 360 + 360) for number in range(count * 10)
    ]


async def _stored(folder: Path, pieces: list[WalPiece], *bases: int) -> Archive:
    store = open_archive_store(Backup(path=str(folder)))
    archive = Archive(store, KEYS, ID)
    await archive.write_struct("info", ArchiveInfo("42", 1, SEGMENT, 180006, BEGAN))
    for piece in pieces:
        await archive.write(piece_name(piece.start, piece.end, piece.time), bytes(piece.end - piece.start))
    for number in bases:
        await archive.write_struct(f"base/base{number}/info", _base(number))
    return archive


async def test_the_last_base_backup_before_a_moment_and_the_log_to_a_minute_behind_it(
    tmp_path: Path,
) -> None:
    archive = await _stored(tmp_path, _hours(3), 0, 1, 2)
    now = BEGAN + 3 * 3600

    files = await plan_recovery(archive.store, KEYS, "before the last 75 minutes", "", now)

    assert files.base.name == "base1"
    assert files.plan.until == now - 75 * 60
    assert files.pieces[0].start <= files.base.start_lsn < files.pieces[0].end
    assert files.pieces[-1].time == BEGAN + 18 * 360  # the first at least a minute behind 6300 s
    assert files.plan.settings["recovery_target_time"].endswith("+00")


async def test_a_moment_outside_of_the_archive_is_refused_with_what_it_has(tmp_path: Path) -> None:
    archive = await _stored(tmp_path, _hours(1), 0)
    await archive.write_struct("covered", CoveredMoment(1000, BEGAN + 4000))

    for moment in ("2026-11-18 11:00", "1 second ago"):
        with pytest.raises(MomentRejected, match=r"is not in the archive, which has: .* to "):
            await plan_recovery(archive.store, KEYS, moment, "", BEGAN + 5000)
    assert (
        await plan_recovery(archive.store, KEYS, "1000 seconds ago", "", BEGAN + 5000)
    ).base.name == "base0"


async def test_a_gap_is_refused_with_its_moments_and_moments_before_it_are_not(tmp_path: Path) -> None:
    pieces = _hours(2)
    archive = await _stored(tmp_path, [*pieces[:8], *pieces[9:]], 0, 1)

    with pytest.raises(
        MomentRejected, match=r"from 0/320 to 0/384 is missing .* between .* and .* can be restored"
    ):
        await plan_recovery(archive.store, KEYS, "lsn 0/3E8", "", BEGAN + 7200)
    before = await plan_recovery(archive.store, KEYS, "lsn 0/200", "", BEGAN + 7200)
    after = await plan_recovery(archive.store, KEYS, "latest", "", BEGAN + 7200)

    assert before.base.name == "base0"
    assert after.base.name == "base1"


def test_pieces_that_overlap_are_one_chain() -> None:
    pieces = [_piece(0, 300, 1.0), _piece(200, 400, 2.0), _piece(200, 300, 2.0), _piece(400, 500, 3.0)]

    assert [piece.end for piece in chain(sorted(pieces), _base(0), None)] == [300, 400, 500]


def test_a_base_backup_whose_own_log_is_missing_is_refused() -> None:
    with pytest.raises(MomentRejected, match="log of the base backup base0 itself"):
        chain([_piece(0, 120, 1.0)], _base(0), None)


async def test_a_migration_is_found_by_its_transaction(tmp_path: Path) -> None:
    archive = await _stored(tmp_path, _hours(3), 0, 1, 2)
    mark = MigrationMark("20261122101500", "add", "777", 1500, BEGAN + 2 * 3600)
    older = MigrationMark("1", "init", "5", 100, BEGAN, is_older=True)
    await archive.write_struct("migrations", MigrationMarks([older, mark]))

    plan = (
        await plan_recovery(archive.store, KEYS, "before migration 20261122101500", "", BEGAN + 10800)
    ).plan

    assert plan.base == "base1"
    assert plan.settings == {"recovery_target_xid": "777", "recovery_target_inclusive": "off"}
    assert plan.migrations_after == ["20261122101500"]
    with pytest.raises(MomentRejected, match="No archive has seen the migration 1 being applied"):
        await plan_recovery(archive.store, KEYS, "migration 1", "", BEGAN + 10800)


async def test_two_archives_with_a_moment_want_a_name(tmp_path: Path) -> None:
    first = await _stored(tmp_path, _hours(1), 0)
    other = Archive(first.store, KEYS, "headwater_archive_ffffffffffff")
    await other.write_struct("info", ArchiveInfo("43", 1, SEGMENT, 180006, BEGAN))
    await other.write_struct("base/base0/info", _base(0))
    for piece in _hours(1):
        await other.write(piece_name(piece.start, piece.end, piece.time), bytes(piece.end - piece.start))

    with pytest.raises(MomentRejected, match="--archive"):
        await plan_recovery(first.store, KEYS, "30 minutes ago", "", BEGAN + 3600)
    named = await plan_recovery(first.store, KEYS, "30 minutes ago", ID, BEGAN + 3600)

    assert named.plan.archive == ID


def test_the_retention_leaves_the_base_backup_that_its_first_moment_needs() -> None:
    bases, pieces = [_base(number) for number in range(4)], _hours(4)

    old = superseded(bases, pieces, BEGAN + 2 * 3600)

    assert ([base.name for base in old.bases], old.links) == (["base0"], [])
    assert old.pieces[-1].end <= _base(1).start_lsn < pieces[len(old.pieces)].end
    assert superseded([], pieces, BEGAN + 9999) == SupersededFiles([], [], [])
    assert superseded(bases[:1], pieces, BEGAN + 99999) == SupersededFiles([], [], pieces[:1])


async def test_the_retention_keeps_what_a_base_backup_is_built_on_without_its_log(tmp_path: Path) -> None:
    """Four of them, built on one another: the first moment of the retention needs the third."""
    archive = await _stored(tmp_path, _hours(5), 0)
    for number in range(1, 4):
        await archive.write_struct(
            f"base/base{number}/info", replace(_base(number), parent=f"base{number - 1}")
        )
    await archive.write_struct("base/base4/info", _base(4))

    deleted = await apply_retention(archive, BEGAN + 5 * 3600, 2.5 * 3600)
    files = await plan_recovery(archive.store, KEYS, "2 hours ago", "", BEGAN + 5 * 3600)

    assert (deleted.bases, deleted.oldest) == (0, _base(2).began_at)
    assert [base.is_link_only for base in await archive.bases()] == [True, True, False, False, False]
    assert (await archive.pieces())[0].start <= _base(2).start_lsn < (await archive.pieces())[0].end
    assert [link.name for link in files.links] == ["base0", "base1", "base2"]
    assert files.plan.base_bytes == 3 * 5000
    assert files.plan.first == _base(2).ended_at
    with pytest.raises(MomentRejected, match="is not in the archive"):
        await plan_recovery(archive.store, KEYS, "210 minutes ago", "", BEGAN + 5 * 3600)

    later = await apply_retention(archive, BEGAN + 8 * 3600, 2.5 * 3600)

    assert (later.bases, [base.name for base in await archive.bases()]) == (4, ["base4"])


@pytest.mark.parametrize(
    ("sizes", "most", "parent"),
    [
        ([], 6, None),
        ([5000], 6, "base0"),
        ([5000], 0, None),
        ([5000, 10, 10], 6, "base2"),
        ([5000, 10, 10], 2, None),
        ([5000, 3000, 2000], 6, None),  # they have as many bytes as the full one
    ],
)
def test_the_number_and_the_bytes_of_incremental_base_backups_are_bounded(
    sizes: list[int], most: int, parent: str | None
) -> None:
    bases = [
        replace(_base(number), content_bytes=size, parent=f"base{number - 1}" if number else "")
        for number, size in enumerate(sizes)
    ]

    chosen = parent_of_next(bases, most)

    assert (chosen.name if chosen else None) == parent
    assert parent_of_next(bases[1:], most) is None  # what they are built on is missing


async def test_the_retention_deletes_interrupted_base_backups(tmp_path: Path) -> None:
    archive = await _stored(tmp_path, _hours(3), 0, 1, 2)
    await archive.write("base/broken/content", b"half")

    deleted = await apply_retention(archive, BEGAN + 3 * 3600, 3600)

    names = {file.name.split("/")[2] for file in await archive.store.list_files(f"{ID}/base")}
    assert names == {"base1", "base2"}
    assert (deleted.bases, deleted.oldest) == (1, _base(1).began_at)
    assert (await archive.pieces())[0].end > _base(1).start_lsn


@pytest.mark.parametrize(
    ("lsn", "name"),
    [(0x3000000, "000000020000000000000003"), (0x1_0000_0000 - 1, "0000000200000000000000FF"), (0x5_AB00_0000, "0000000200000005000000AB")],
)  # fmt: skip
def test_files_of_the_log_have_the_names_of_postgres(lsn: int, name: str) -> None:
    assert segment_name(lsn, 2, SEGMENT) == name
