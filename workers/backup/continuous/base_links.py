"""Which base backups belong together (pure): a full one, and incremental ones of which each has the changes since the one before.

    full <- incremental <- incremental <- ... <- the one to restore

A restore reads them all, so their number and their bytes are bounded: after `backup.incrementals` of them, or when they have as many bytes as
the full one, the next is full again. The log is needed only from the beginning of the last one on: one that is `is_link_only` has lost its own.
"""

from collections.abc import Iterable, Sequence

from workers.backup.continuous.archive import BaseInfo
from workers.backup.continuous.moments import MomentRejected


def links_of(bases: Iterable[BaseInfo], base: BaseInfo) -> list[BaseInfo]:
    """Return a base backup and all that it is built on, the full one first. Raises: MomentRejected if one is missing."""
    by_name = {known.name: known for known in bases}
    links = [base]
    while parent := links[0].parent:
        if parent not in by_name:
            raise MomentRejected(
                f"The base backup {parent} is missing in the archive, and {base.name} has only the changes since it: "
                "choose a moment before it, or after a later full one (`headwater backup --list`)."
            )
        links.insert(0, by_name[parent])
    return links


def restorable(bases: Iterable[BaseInfo]) -> list[BaseInfo]:
    """Return the base backups whose own moments can be restored."""
    return [base for base in bases if not base.is_link_only]


def parent_of_next(bases: Sequence[BaseInfo], most: int) -> BaseInfo | None:
    """Return the base backup since which the next one has the changes, None if the next one is to be full.

    `bases` are sorted by age; `most` is the number of incremental ones behind a full one.
    """
    if not bases or most == 0:
        return None
    try:
        full, *changes = links_of(bases, bases[-1])
    except MomentRejected:
        return None
    if len(changes) >= most or sum(link.content_bytes for link in changes) >= full.content_bytes:
        return None
    return bases[-1]
