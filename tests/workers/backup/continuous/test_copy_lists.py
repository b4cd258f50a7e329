"""Lists of copies: an interruption at any call of the store never makes a whole archive look damaged, and a deleted copy is named."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.archive.store import ArchiveStoreDown, open_archive_store
from schemas.settings.backup import Backup
from workers.backup.continuous import copy_lists, inventory
from workers.backup.continuous.archive import Archive
from workers.backup.continuous.copy_lists import CopyLists, missing_copies

_KEYS = [bytes(32)]
_ID = "headwater_archive_0123456789ab"


class _BreakingStore:
    """A store that can be reached for some changes more."""

    def __init__(self, folder: Path) -> None:
        self._store = open_archive_store(Backup(path=str(folder)))
        self.changes = 10**9

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def put(self, name: str, content: bytes) -> None:
        self._change()
        await self._store.put(name, content)

    async def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._change()
            await self._store.delete([name])

    def _change(self) -> None:
        if self.changes <= 0:
            raise ArchiveStoreDown("away")
        self.changes -= 1


async def _continued(store: _BreakingStore) -> tuple[Archive, CopyLists, set[str]]:
    """Continue an archive as a session does."""
    archive = Archive(store, _KEYS, _ID)  # type: ignore[arg-type]  # a store in all that is used
    await inventory.note_existing(archive)
    lists = CopyLists(archive)
    stored = {file.name.removeprefix(f"{_ID}/") for file in await store.list_files(f"{_ID}/objects")}
    listed = await lists.load()
    await lists.add(stored - listed)
    assert listed <= stored
    return archive, lists, stored


_STEPS = st.lists(
    st.tuples(st.sampled_from(["copy", "delete"]), st.integers(1, 4), st.integers(0, 9)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(_STEPS)
def test_an_interruption_never_makes_a_whole_archive_look_damaged(steps):
    async def check(folder: Path) -> None:
        store = _BreakingStore(folder)
        archive, lists, stored = await _continued(store)
        number = 0
        for what, count, changes in steps:
            store.changes = changes
            try:
                if what == "copy":
                    new = [f"objects/{number + at}" for at in range(count)]
                    number += count
                    for name in new:
                        await archive.write(name, b"bytes")
                    await lists.add(new)
                else:
                    gone = sorted(stored)[:count]
                    await lists.drop(gone)
                    await store.delete([archive.path(name) for name in gone])
            except ArchiveStoreDown:
                pass
            store.changes = 10**9
            assert await missing_copies(archive) == []
            archive, lists, stored = await _continued(store)
        for name in stored:
            await store.delete([archive.path(name)])
            assert await missing_copies(archive) == [name]
            await archive.write(name, b"bytes")

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as made:
        patch.setattr(copy_lists, "_LONGEST", 3)
        patch.setattr(copy_lists, "_SHORT", 3)
        patch.setattr(copy_lists, "_MOST_SHORT", 3)
        asyncio.run(check(Path(made)))
