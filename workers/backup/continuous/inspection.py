"""Lists the archives of a store, and verifies them: everything is read, decrypted and compared."""

from collections.abc import Callable
from contextlib import suppress

from broker.archive.sealing import SealBroken
from broker.archive.store import ArchiveFileMissing, ArchiveStore
from schemas.recovery import ListedArchive
from workers.backup.continuous.archive import ARCHIVES, BaseInfo, CoveredMoment, is_archive_id
from workers.backup.continuous.base_files import check_link, read_base
from workers.backup.continuous.base_links import links_of
from workers.backup.continuous.copy_lists import missing_copies
from workers.backup.continuous.inventory import missing_files
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.object_restore import verify_copy
from workers.backup.continuous.recovery_files import read_piece
from workers.backup.continuous.recovery_plan import ArchiveContent, chain, read_archives
from workers.database.sessions.replication import lsn_text

Report = Callable[[str], None]


async def inspect(
    store: ArchiveStore, keys: list[bytes], *, verify: bool, report: Report
) -> list[ListedArchive]:
    """Return what each archive has, and what is wrong with it. Raises: ArchiveStoreDown, SealBroken."""
    contents = await read_archives(store, keys)
    listed = [await _listed(content, verify=verify, report=report) for content in contents]
    return listed + await _without_info(store, {content.archive.id for content in contents})


async def _listed(content: ArchiveContent, *, verify: bool, report: Report) -> ListedArchive:
    archive = content.archive
    files = await archive.store.list_files(archive.id)
    faults = await _missing(content)
    if content.bases:
        faults += _gaps(content)
    is_new = not content.bases and not faults
    if is_new:
        faults = ["it has no complete base backup yet"]
    if verify:
        faults += await _damages(content, report)
    return ListedArchive(
        archive=archive.id,
        first=content.first,
        last=content.last,
        bases=len(content.all_bases),
        incrementals=sum(1 for base in content.all_bases if base.parent),
        stored_bytes=sum(file.size for file in files),
        faults=faults,
        is_new=is_new and len(faults) == 1,
    )


async def _without_info(store: ArchiveStore, known: set[str]) -> list[ListedArchive]:
    """Return the archives whose own file is gone, so that no restore sees them."""
    sizes: dict[str, int] = {}
    for file in await store.list_files(""):
        id = file.name.partition("/")[0]
        if is_archive_id(id) and id not in known:
            sizes[id] = sizes.get(id, 0) + file.size
    return [
        ListedArchive(
            archive=id,
            first=None,
            last=0.0,
            bases=0,
            incrementals=0,
            stored_bytes=size,
            faults=[f"{ARCHIVES}/{id} is missing: nothing of this archive can be restored without it"],
        )
        for id, size in sorted(sizes.items())
    ]


async def _missing(content: ArchiveContent) -> list[str]:
    """Return which files were written and are gone."""
    archive = content.archive
    names = await missing_files(archive, has_inventory=content.info.has_inventory)
    names += await missing_copies(archive)
    faults = [f"{archive.path(name)} is missing" for name in names]
    covered = await archive.read_struct("covered", CoveredMoment)
    if covered and content.pieces and covered.lsn > content.pieces[-1].end:
        start, end = lsn_text(content.pieces[-1].end), lsn_text(covered.lsn)
        faults.append(f"{archive.path('wal')}: the last pieces of the log are missing, from {start} to {end}")
    return faults


def _gaps(content: ArchiveContent) -> list[str]:
    faults = []
    try:
        chain(content.pieces, content.bases[0], None)
    except MomentRejected as error:
        faults.append(str(error))
    for base in content.bases:
        try:
            links_of(content.all_bases, base)
        except MomentRejected as error:
            faults.append(str(error))
    return faults


def _built_on(content: ArchiveContent, base: BaseInfo) -> str:
    """Return which base backups cannot be restored without one, in words."""
    names = [other.name for other in content.bases if other != base and base in _links(content, other)]
    return f" (on which {', '.join(names)} are built)" if names else ""


def _links(content: ArchiveContent, base: BaseInfo) -> list[BaseInfo]:
    try:
        return links_of(content.all_bases, base)
    except MomentRejected:
        return []


async def _damages(content: ArchiveContent, report: Report) -> list[str]:
    faults = []
    archive = content.archive
    for base in content.all_bases:
        report(f"{archive.id}: reading the base backup {base.name}")
        try:
            await read_base(archive, base, None)
            await check_link(archive, base)
        except (SealBroken, ArchiveFileMissing) as error:
            faults.append(f"base backup {base.name}{_built_on(content, base)}: {error}")
    report(f"{archive.id}: reading {len(content.pieces)} pieces of the log")
    for piece in content.pieces:
        try:
            await read_piece(archive, piece)
        except (SealBroken, ArchiveFileMissing, MomentRejected) as error:
            faults.append(str(error))
    with suppress(ArchiveFileMissing):  # a server on its first timeline has none
        try:
            await archive.read("history")
        except SealBroken as error:
            faults.append(str(error))
    for folder in ("objects", "functions"):
        for file in await archive.store.list_files(f"{archive.id}/{folder}"):
            try:
                await verify_copy(archive, file.name)
            except (SealBroken, ArchiveFileMissing) as error:
                faults.append(str(error))
    return faults
