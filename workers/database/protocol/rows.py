"""Rows of results, and how they are read from DataRow messages. Pure.

The body of a DataRow is the number of values as two bytes, then for each value its length as four bytes (-1 for NULL)
and its bytes.
"""

from struct import Struct

Row = tuple[bytes | None, ...]
"""The values of one row; None is NULL."""
Rows = list[Row]

_read_size = Struct("!i").unpack_from
_read_count = Struct("!H").unpack_from


class ProtocolViolation(Exception):
    """The server sent bytes that are not valid protocol messages at this point. The connection cannot be used further."""


def read_row(data: bytes, at: int, stop: int) -> Row:
    """Read the body of a DataRow between two offsets. Raises: ProtocolViolation, struct.error."""
    (count,) = _read_count(data, at)
    at += 2
    values: list[bytes | None] = []
    for _ in range(count):
        (size,) = _read_size(data, at)
        at += 4
        if size < 0:
            values.append(None)
        else:
            values.append(data[at : at + size])
            at += size
    if at != stop:
        raise ProtocolViolation("the values of a row do not have the row's length")
    return tuple(values)


def read_before_last(data: bytes, at: int, stop: int) -> tuple[Row, int] | None:
    """Read all values of a DataRow except the last; return them and the offset where the last one begins.

    Return None if more bytes of the row are needed for that. Raises: ProtocolViolation.
    """
    end, values = len(data), list[bytes | None]()
    if at + 2 > end:
        return None
    (count,) = _read_count(data, at)
    at += 2
    while at + 4 <= end:
        (size,) = _read_size(data, at)
        at += 4
        if len(values) + 1 == count:
            if at + size != stop:
                raise ProtocolViolation("the values of a row do not have the row's length")
            return tuple(values), at
        values.append(data[at : at + size] if size >= 0 else None)
        at += max(size, 0)
    return None
