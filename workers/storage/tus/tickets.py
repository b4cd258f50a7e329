"""What the pool remembers of a writer while bytes come: which upload, under which name it holds it. Pure.

The name is a random one that only the pool and the edge know, and the row's must be the same: it needs no seal.
"""

from uuid import UUID

from workers.storage.tus.refusals import lost

_UUID = 16


def seal(version: str, writer: UUID) -> bytes:
    """Give the ticket of a writer."""
    return UUID(version).bytes + writer.bytes


def open_ticket(ticket: bytes) -> tuple[str, UUID]:
    """Give the version of the upload and the writer's name. Raises: Refused (423) for what is no ticket."""
    if len(ticket) != 2 * _UUID:
        raise lost()
    return str(UUID(bytes=ticket[:_UUID])), UUID(bytes=ticket[_UUID:])
