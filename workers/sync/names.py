"""Parses names as SQL writes them: a table, and a list of columns. Pure. Source: docs/sync.md."""

from collections.abc import Iterator

from workers.sync.errors import InvalidParameters

TableName = tuple[str, str]
"""Schema and table."""
DEFAULT_SCHEMA = "public"
_MOST_COLUMNS = 1664
"""Postgres allows no more in one statement."""
_LONGEST = 63


def parse_table(text: str) -> TableName:
    """Parse `name` or `schema.name`; parts without quotes are folded to lower case. Raises: InvalidParameters."""
    if not text.strip():
        raise InvalidParameters("table", "can't be blank")
    parts = _split(text.strip(), ".", "table")
    if len(parts) > 2:
        raise InvalidParameters("table", "table name does not match expected format")
    return (parts[0], parts[1]) if len(parts) == 2 else (DEFAULT_SCHEMA, parts[0])


def parse_columns(text: str, parameter: str = "columns") -> tuple[str, ...]:
    """Parse a list of columns with commas between. Raises: InvalidParameters."""
    if not text.strip():
        raise InvalidParameters(parameter, "must name at least one column")
    names = _split(text, ",", parameter)
    if len(names) > _MOST_COLUMNS:
        raise InvalidParameters(parameter, "names too many columns")
    return tuple(dict.fromkeys(names))


def _split(text: str, separator: str, parameter: str) -> list[str]:
    names, rest = [], text
    while True:
        name, rest = _one(rest.lstrip(), parameter)
        names.append(name)
        rest = rest.lstrip()
        if not rest:
            return names
        if not rest.startswith(separator):
            raise InvalidParameters(
                parameter, f"Invalid unquoted identifier contains special characters: {text}"
            )
        rest = rest[1:]


def _one(text: str, parameter: str) -> tuple[str, str]:
    """Return the first name of a text, and what follows it."""
    if text.startswith('"'):
        pieces = list(_quoted(text))
        end = sum(len(piece) for piece in pieces)
        name = "".join(pieces)[1:-1].replace('""', '"')
        if not pieces or text[end - 1 : end] != '"' or end < 2:
            raise InvalidParameters(parameter, f"Invalid identifier with unescaped quote: {text}")
        if not name:
            raise InvalidParameters(parameter, "Invalid zero-length delimited identifier")
        return _checked(name, parameter), text[end:]
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "_$"):
        end += 1
    if not end or text[0].isdigit() or text[0] == "$":
        shown = text or "an empty name"
        raise InvalidParameters(
            parameter, f"Invalid unquoted identifier contains special characters: {shown}"
        )
    return _checked(text[:end].lower(), parameter), text[end:]


def _quoted(text: str) -> Iterator[str]:
    """Yield the pieces of a quoted name up to its closing quote."""
    at = 1
    yield '"'
    while True:
        end = text.find('"', at)
        if end < 0:
            return
        yield text[at : end + 1]
        if text[end + 1 : end + 2] != '"':
            return
        yield '"'
        at = end + 2


def _checked(name: str, parameter: str) -> str:
    if len(name.encode()) > _LONGEST:
        raise InvalidParameters(parameter, f"Identifier too long (max {_LONGEST} bytes)")
    return name
