"""The inventory of an archive: files that were written and that a restore reads, so that one which is missing is named.

Pieces of the log miss each other, for they are a chain; these files do not: without its `info` a base backup looks as if it had never been
complete, and without `covered` or `migrations` an archive looks as if nothing had been noted yet. A name is added after its file was
written and removed before the file is deleted, so an interruption never makes a whole archive look damaged. Copies of objects are many and have lists of their own (copy_lists.py), which are noted here. Archives of earlier
versions get an inventory of what they have when they are continued.
"""

from collections.abc import Collection, Iterable

from msgspec import Struct

from workers.backup.continuous.archive import Archive

NAME = "inventory"
_SINGLE = frozenset({"covered", "migrations", "history"})


class Inventory(Struct, frozen=True):
    """Names of files, relative to the archive."""

    names: list[str] = []


async def note(archive: Archive, *names: str) -> None:
    """Add files that were written. Raises: ArchiveStoreDown, SealBroken."""
    async with archive.inventory_lock:
        stored = await archive.read_struct(NAME, Inventory)
        known = set(stored.names) if stored is not None else set()
        if not known.issuperset(names) or stored is None:
            await archive.write_struct(NAME, Inventory(sorted(known | set(names))))


async def note_existing(archive: Archive) -> None:
    """Add what an archive has. Raises: ArchiveStoreDown, SealBroken."""
    await note(archive, *[name for name in await _names(archive) if _is_noted(name)])


async def forget(archive: Archive, names: Iterable[str]) -> None:
    """Remove files that are about to be deleted. Raises: ArchiveStoreDown, SealBroken."""
    async with archive.inventory_lock:
        stored = await archive.read_struct(NAME, Inventory)
        if stored is not None and (gone := set(stored.names) & set(names)):
            await archive.write_struct(NAME, Inventory(sorted(set(stored.names) - gone)))


async def exchange(archive: Archive, old: Collection[str], new: Collection[str]) -> None:
    """Remove files that are about to be deleted, and add those that were written in their place. Raises: ArchiveStoreDown, SealBroken."""
    async with archive.inventory_lock:
        known = set(await noted(archive))
        await archive.write_struct(NAME, Inventory(sorted(known - set(old) | set(new))))


async def noted(archive: Archive) -> list[str]:
    """Return the names of all files that were written. Raises: ArchiveStoreDown, SealBroken."""
    stored = await archive.read_struct(NAME, Inventory)
    return stored.names if stored is not None else []


async def missing_files(archive: Archive, *, has_inventory: bool) -> list[str]:
    """Return the names of files that were written and are gone. Raises: ArchiveStoreDown, SealBroken."""
    stored, names = await archive.read_struct(NAME, Inventory), set(await _names(archive))
    if stored is not None:
        return sorted(set(stored.names) - names)
    if has_inventory:
        return [NAME]
    ready = {f"{name.removesuffix('manifest')}info" for name in names if name.endswith("/manifest")}
    return sorted(ready - names) if not any(name.endswith("/info") for name in names) else []


async def _names(archive: Archive) -> list[str]:
    return [file.name.removeprefix(f"{archive.id}/") for file in await archive.store.list_files(archive.id)]


def _is_noted(name: str) -> bool:
    return (
        name in _SINGLE or name.startswith("copies/") or (name.startswith("base/") and name.endswith("/info"))
    )
