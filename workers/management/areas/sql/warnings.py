"""Which statements of a text destroy something, by their first words and the names behind them. Pure.

It reads words, not a grammar, so it is for people who are about to press a button, not a wall: code in functions and DO blocks is
not looked into, and what it does not know it does not name. The rights of the session's login are the wall.
Source: PostgreSQL, "SQL Commands".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from workers.project.sql_splitter import ScriptStatement

_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_QUALIFIED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_PART = re.compile(_NAME)
_DROP = re.compile(
    r"\s*drop\s+(?P<kind>materialized\s+view|foreign\s+table|event\s+trigger|access\s+method|owned\s+by|text\s+search\s+\w+|\w+)"
    r"(?:\s+concurrently)?(?:\s+if\s+exists)?\s+(?P<names>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TRUNCATE = re.compile(r"\s*truncate\s+(?:table\s+)?(?P<names>.*)", re.IGNORECASE | re.DOTALL)
_TARGET = re.compile(
    rf"(?:^|[\s(])(?:delete\s+from|update)\s+(?:only\s+)?(?P<name>{_QUALIFIED})", re.IGNORECASE | re.DOTALL
)
_ALTERED = re.compile(
    rf"\s*alter\s+(?:table|materialized\s+view|foreign\s+table)\s+(?:if\s+exists\s+)?(?:only\s+)?(?P<name>{_QUALIFIED})",
    re.IGNORECASE | re.DOTALL,
)
_ONE_OF_LIST = re.compile(
    rf"\s*(?:only\s+)?(?P<name>{_QUALIFIED})\s*\*?\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)


class WarningKind(StrEnum):
    """What a statement destroys or changes for others."""

    DROP = "drop"
    TRUNCATE = "truncate"
    DELETE_ALL = "delete_without_where"
    UPDATE_ALL = "update_without_where"
    DROP_COLUMN = "drop_column"
    ALTER_TYPE = "alter_type"
    DISABLE_ROW_SECURITY = "disable_row_security"
    GRANT_ALL = "grant_to_anon"
    LOCKS_TABLE = "locks_table"


@dataclass(frozen=True, slots=True)
class TextWarning:
    """A warning about a statement (its index), and the objects that it names, as the text writes them."""

    statement: int
    line: int
    kind: WarningKind
    message: str
    names: tuple[tuple[str, ...], ...] = ()


def warnings_of(statements: list[ScriptStatement]) -> list[TextWarning]:
    """Return the warnings about a text's statements, in order."""
    warnings = []
    for index, script in enumerate(statements):
        for kind, message, names in _warnings(script):
            warnings.append(TextWarning(index, script.line, kind, message, names))
    return warnings


_Names = tuple[tuple[str, ...], ...]


def _warnings(script: ScriptStatement) -> Iterator[tuple[WarningKind, str, _Names]]:
    text = _COMMENT.sub(" ", script.text[script.head :])
    words = script.words
    match words[:1]:
        case ("drop",) if match := _DROP.match(text):
            kind = " ".join(match["kind"].lower().split())
            cascades = " and everything that depends on it" if "cascade" in words else ""
            yield WarningKind.DROP, f"Drops a {kind}{cascades}", _names(match["names"])
        case ("truncate",) if match := _TRUNCATE.match(text):
            yield WarningKind.TRUNCATE, "Deletes every row, without triggers of rows", _names(match["names"])
        case ("delete",) | ("update",) | ("with",):
            yield from _writes_all(text, words)
        case ("alter",):
            yield from _alters(text, words)
        case ("grant",) if {"anon", "public"} & set(words[words.index("to") :] if "to" in words else ()):
            yield WarningKind.GRANT_ALL, "Grants rights to every client, signed in or not", ()
        case ("vacuum",) if "full" in words:
            yield WarningKind.LOCKS_TABLE, "Rewrites the table, which cannot be read meanwhile", ()
        case ("create",) if "index" in words[:3] and "concurrently" not in words:
            yield WarningKind.LOCKS_TABLE, "The table cannot be written while the index is built", ()


def _writes_all(text: str, words: tuple[str, ...]) -> Iterator[tuple[WarningKind, str, _Names]]:
    """Warn of a DELETE or UPDATE without WHERE, also of one in a `with` query, whose words stand in parentheses."""
    is_with = words[0] == "with"
    for match in _TARGET.finditer(text):
        clause = _clause(text, match.end()) if is_with else " ".join(words)
        if re.search(r"\bwhere\b", clause, re.IGNORECASE):
            continue
        names = (_parts(match["name"]),)
        if re.match(r"[\s(]*delete", match[0], re.IGNORECASE):
            yield WarningKind.DELETE_ALL, "Deletes every row: it has no WHERE", names
        elif re.match(r"\s+(?:as\s+)?(?:\w+\s+)?set\b", text[match.end() :], re.IGNORECASE):
            yield WarningKind.UPDATE_ALL, "Changes every row: it has no WHERE", names
        if not is_with:
            return


def _clause(text: str, at: int) -> str:
    """Return the text from `at` to the parenthesis that ends the clause there."""
    depth = 0
    for offset in range(at, len(text)):
        if text[offset] == "(":
            depth += 1
        elif text[offset] == ")":
            depth -= 1
            if depth < 0:
                return text[at:offset]
    return text[at:]


def _alters(text: str, words: tuple[str, ...]) -> Iterator[tuple[WarningKind, str, _Names]]:
    match = _ALTERED.match(text)
    if match is None:
        return
    names = (_parts(match["name"]),)
    lowered = " ".join(words)
    if re.search(r"\bdrop (?!constraint|default|not|identity|expression)", lowered):
        yield WarningKind.DROP_COLUMN, "Drops a column with its values", names
    if re.search(r"\b(?:set data )?type\b", lowered) and "alter" in words[1:]:
        yield (
            WarningKind.ALTER_TYPE,
            "Changes the type of a column: the table may be rewritten and is locked",
            names,
        )
    if "disable row level security" in lowered or "no force row level security" in lowered:
        yield WarningKind.DISABLE_ROW_SECURITY, "Policies of the table no longer apply", names


def _names(text: str) -> _Names:
    """Return the names of a list, as far as they are plain names."""
    names = []
    while match := _ONE_OF_LIST.match(text):
        names.append(_parts(match["name"]))
        rest = match["rest"]
        if rest.startswith("("):  # the arguments of a function
            rest = rest[rest.find(")") + 1 :].lstrip()
        if not rest.startswith(","):
            break
        text = rest[1:]
    return tuple(names)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(
        part[1:-1].replace('""', '"') if part.startswith('"') else part.lower()
        for part in _PART.findall(name)
    )
