"""Reads the archive of a bundle: a `.tar.gz` of plain files, from a client or a store that may be hostile. Pure.

The standard library's reader is not used. It expands sparse files (a member of some bytes becomes gigabytes of zeros, past every limit on what
was unpacked), calls itself for each header of another header, and its search for extended headers needs time that grows with the square of
their length. A bundle needs none of that: files, folders, and names longer than 100 bytes. So each header is read once, sizes are
those of the bytes that are there, and everything else is rejected.
Source: POSIX.1-2017, `pax`, "ustar Interchange Format" and "pax Header Block"; GNU tar, "Basic Tar Format" (type `L`).
"""

import gzip
import io
import zlib
from collections.abc import Iterator

_BLOCK = 512
_PIECE = 256 * 1024
_LONGEST_EXTENSION = 64 * 1024
_FILES, _FOLDER = (b"0", b"\0"), b"5"
_EXTENDED, _FOR_ALL, _LONG_NAME = b"x", b"g", b"L"
_OF_LAYOUT = ("size", "linkpath", "GNU.sparse.")
"""Keys of extended headers that make a member something else than the bytes behind its header."""


class ArchiveRejected(ValueError):
    """An archive is not acceptable; the text is the reason."""


def unzipped(data: bytes, most_bytes: int) -> bytes:
    """Decompress an archive. Raises: ArchiveRejected, also for more than `most_bytes`."""
    pieces, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > most_bytes:
                    raise ArchiveRejected(f"it unpacks to more than {most_bytes} bytes")
                pieces.append(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveRejected(f"it is not a .tar.gz: {error}") from None
    return b"".join(pieces)


def archive_files(archive: bytes, most_members: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the files of an unzipped archive; names are as they stand there. Raises: ArchiveRejected."""
    if len(archive) < _BLOCK:
        raise ArchiveRejected("it is empty")
    at, members, long_name = 0, 0, ""
    while at + _BLOCK <= len(archive):
        header = archive[at : at + _BLOCK]
        if not any(header):
            return
        kind, size, begin = header[156:157], _size(header), at + _BLOCK
        if size > len(archive) - begin:
            raise ArchiveRejected("it ends within a file")
        content, at = archive[begin : begin + size], begin + -(-size // _BLOCK) * _BLOCK
        if kind in (_EXTENDED, _FOR_ALL, _LONG_NAME):
            if size > _LONGEST_EXTENSION:
                raise ArchiveRejected("it has a header that is too long")
            name = _text(content) if kind == _LONG_NAME else _name_of_records(content)
            if name and kind == _FOR_ALL:
                raise ArchiveRejected("it names all files at once")
            long_name = name or long_name
            continue
        members += 1
        if members > most_members:
            raise ArchiveRejected(f"it has more than {most_members} files")
        name, long_name = long_name or _name(header), ""
        if kind == _FOLDER and not size:
            continue
        if kind not in _FILES:
            raise ArchiveRejected(f"{name[:80]!r} is not a regular file")
        yield name, content
    if any(archive[at:]):
        raise ArchiveRejected("it ends within a header")


def _size(header: bytes) -> int:
    """Return the size that a header names, after a look at its sum. Raises: ArchiveRejected."""
    if _octal(header[148:156]) != sum(header[:148]) + 8 * ord(" ") + sum(header[156:]):
        raise ArchiveRejected("a header has a wrong sum")
    return _octal(header[124:136])


def _octal(field: bytes) -> int:
    digits = field.strip(b"\0 ")
    if not digits or digits.strip(b"01234567"):
        raise ArchiveRejected("a header has a number that is none")
    return int(digits, 8)


def _name(header: bytes) -> str:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_text(header[:100])}" if prefix else _text(header[:100])


def _text(field: bytes) -> str:
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise ArchiveRejected("it has a name that is no UTF-8") from None


def _name_of_records(content: bytes) -> str:
    """Return the name that records of an extended header give, each `<length> <key>=<value>\\n`; empty without one. Raises: ArchiveRejected."""
    name, at = "", 0
    while at < len(content):
        digits = content[at : at + 6].partition(b" ")[0]
        length = int(digits) if digits.isdigit() and len(digits) < 6 else 0
        record = content[at : at + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or not record.endswith(b"\n") or len(record) != length:
            raise ArchiveRejected("it has an extended header that cannot be read")
        if _text(key).startswith(_OF_LAYOUT):
            raise ArchiveRejected(f"it has a file of an unusual form ({_text(key)[:40]})")
        if key == b"path":
            if not value or b"\0" in value:
                raise ArchiveRejected("it has a name that is none")
            name = _text(value)
        at += length
    return name
