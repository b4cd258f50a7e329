"""Pages of listings that the service role has read, used again as long as nothing of their bucket has changed.

    statement:  the mark of the bucket, and the page unless the mark is the one of the stored page
    reply:      (mark, page)  store both          (mark, null)  the stored page is what the database would return now

The mark is read in the same snapshot as the page, so this is exact: it changes with every committed change of an object of the
bucket, by whatever SQL, because triggers that always run write it in the same transaction (migration storage/0028). Each request
still runs its statement with the caller's role. For other callers there is no mark: what their policies show may depend
on anything.
"""

from collections.abc import Mapping

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Value, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

_MOST_BYTES = 8 * 1024 * 1024
"""Bytes of all stored pages of a process, with their keys and marks."""
_LONGEST = 512 * 1024
"""Bytes of the longest page that is stored."""
_ENTRY = 500
"""Bytes of the objects of one entry: empty pages of many folders must not count as nothing."""
_BUCKET_PARAMETERS: Mapping[str, tuple[int, int]] = {
    "children": (1, 6),
    "search": (2, 8),
    "search_deep": (1, 6),
}
"""Listings by the name of their statement: the number of the parameter with the bucket, and how many parameters there are."""

_PACKAGE = "workers.storage.objects"
_LISTINGS, _MARK = read_statements(_PACKAGE, "rows.sql"), read_statements(_PACKAGE, "pages.sql")["mark"]

PageKey = tuple[Value, ...]


def _marked(name: str) -> str:
    bucket, count = _BUCKET_PARAMETERS[name]
    text = _MARK.replace("{bucket}", f"${bucket}").replace("{known_mark}", f"${count + 1}")
    return text.replace("{page}", _LISTINGS[name])


_MARKED = {name: _marked(name) for name in _BUCKET_PARAMETERS}


class StoredPages:
    """Pages by their listing and its values; the least recently used ones are removed beyond `most_bytes`."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pages: dict[PageKey, tuple[str, bytes]] = {}
        self._size = 0

    def read(self, name: str, values: tuple[Value, ...]) -> "PageRead":
        """Return the read of a page of a listing, named as its statement."""
        key = (name, *values)
        entry = self._pages.pop(key, None)
        if entry is not None:
            self._pages[key] = entry  # the newest one now
        return PageRead(self, key, *(entry or ("", b"")))

    def store(self, key: PageKey, mark: str, page: bytes) -> None:
        """Store a page with its mark."""
        self._remove(key)
        size = _size_of(key, mark, page)
        if size > _LONGEST:
            return
        while self._pages and self._size + size > self._most_bytes:
            self._remove(next(iter(self._pages)))
        self._pages[key] = (mark, page)
        self._size += size

    def _remove(self, key: PageKey) -> None:
        entry = self._pages.pop(key, None)
        if entry is not None:
            self._size -= _size_of(key, *entry)


def _size_of(key: PageKey, mark: str, page: bytes) -> int:
    texts = sum(4 * len(value) for value in key if isinstance(value, str))  # at most four bytes a character
    return _ENTRY + texts + len(mark) + len(page)


class PageRead:
    """One read of a page: the statement to run as the service role, and what its rows mean."""

    __slots__ = ("_key", "_known", "_pages", "statement")

    def __init__(self, pages: StoredPages, key: PageKey, mark: str, known: bytes) -> None:
        self._pages, self._key, self._known = pages, key, known
        name, *values = key
        self.statement: Statement = statement(_MARKED[str(name)], *values, mark)

    def page(self, rows: Rows) -> bytes:
        """Return the page: the one of the rows, or the stored one if its mark is still right."""
        mark, page = rows[0]
        if page is None:
            return self._known
        if mark is not None:
            self._pages.store(self._key, mark.decode(), page)
        return page
