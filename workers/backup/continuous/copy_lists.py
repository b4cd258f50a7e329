"""Lists of the copies of objects and functions that an archive has, so that one which is missing is named.

Rows say which objects there must be, but `backup --verify` has no database. So each look that copied something writes a list of it
(`copies/<number>`), and the inventory has the names of the lists. Short lists are merged when there are many of them: the inventory stays
small, and no look writes more than it copied and some.

A copy is written before its list, a list before it is noted, and both are given up before the copy is deleted. So an interruption never
makes a whole archive look damaged; a copy that was interrupted before its list is listed when the archive is continued.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

from msgspec import Struct

from broker.archive.store import ArchiveFileMissing
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import Archive

_FOLDER = "copies"
_LONGEST = 20_000
_SHORT = 1_000
_MOST_SHORT = 32


class CopyList(Struct, frozen=True):
    """Names of copies, relative to the archive."""

    names: list[str] = []


class CopyLists:
    """The lists of one archive that this process continues. Its methods may run at once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = asyncio.Lock()
        self._short: dict[str, list[str]] = {}
        """Lists that may be merged, with their names."""
        self._long: set[str] = set()

    async def load(self) -> set[str]:
        """Read the lists, and return all their names. Raises: ArchiveStoreDown, SealBroken."""
        async with self._lock:
            self._short, self._long = {}, set()
            names: set[str] = set()
            for name in await _list_names(self._archive):
                with suppress(ArchiveFileMissing):
                    content = await _read(self._archive, name)
                    self._remember(name, content)
                    names.update(content)
            return names

    async def add(self, names: Collection[str]) -> None:
        """List copies that were written and are in no list. Raises: ArchiveStoreDown, SealBroken."""
        if not names:
            return
        async with self._lock:
            merged = list(self._short) if len(self._short) >= _MOST_SHORT else []
            await self._exchange(merged, [*names, *(name for each in merged for name in self._short[each])])

    async def drop(self, names: Collection[str]) -> None:
        """Give up names, whose copies the caller then deletes. Raises: ArchiveStoreDown, SealBroken."""
        if not names:
            return
        gone = set(names)
        async with self._lock:
            for each in (*self._short, *self._long):
                content = self._short.get(each) or await _read(self._archive, each)
                if not gone.isdisjoint(content):
                    await self._exchange([each], [name for name in content if name not in gone])

    async def _exchange(self, old: Collection[str], names: Sequence[str]) -> None:
        """Write lists of some names, and give up old ones."""
        number = max(map(_number, (*self._short, *self._long)), default=0)
        written: dict[str, list[str]] = {}
        for at in range(0, len(names), _LONGEST):
            number += 1
            name = f"{_FOLDER}/{number:012}"
            written[name] = list(names[at : at + _LONGEST])
            await self._archive.write_struct(name, CopyList(written[name]))
        await inventory.exchange(self._archive, old, written)
        await self._archive.store.delete([self._archive.path(name) for name in old])
        for name in old:
            self._short.pop(name, None)
            self._long.discard(name)
        for name, content in written.items():
            self._remember(name, content)

    def _remember(self, name: str, names: list[str]) -> None:
        if len(names) < _SHORT:
            self._short[name] = names
        else:
            self._long.add(name)


async def missing_copies(archive: Archive) -> list[str]:
    """Return the names of copies that lists of the inventory have and the store has not. Raises: ArchiveStoreDown, SealBroken."""
    noted = [name for name in await inventory.noted(archive) if name.startswith(f"{_FOLDER}/")]
    listed: set[str] = set()
    for name in noted:
        with suppress(ArchiveFileMissing):  # the inventory names it as missing
            listed.update(await _read(archive, name))
    if not listed:
        return []
    prefix = f"{archive.id}/"
    for folder in ("objects", "functions"):
        listed -= {
            file.name.removeprefix(prefix) for file in await archive.store.list_files(f"{prefix}{folder}")
        }
    return sorted(listed)


async def _list_names(archive: Archive) -> list[str]:
    files = await archive.store.list_files(f"{archive.id}/{_FOLDER}")
    return [name for file in files if _number(name := file.name.removeprefix(f"{archive.id}/"))]


async def _read(archive: Archive, name: str) -> list[str]:
    stored = await archive.read_struct(name, CopyList)
    if stored is None:
        raise ArchiveFileMissing(archive.path(name))
    return stored.names


def _number(name: str) -> int:
    """Return the number of a list; 0 if it has another name."""
    text = name.removeprefix(f"{_FOLDER}/")
    return int(text) if text.isascii() and text.isdigit() and len(text) == 12 else 0
