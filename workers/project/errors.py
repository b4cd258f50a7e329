"""Errors of a project's tasks, each with place, reason and remedy in its text.

ProjectError
|- ProjectRejected  the folder or the history cannot be used as it is
|  `- HistoryDisagrees  the history has other migrations than the folder
|- SplitRejected    a file cannot be split into SQL statements
`- ScriptFailed     the database rejected a statement of a file
"""

from dataclasses import dataclass

import asyncpg

from workers.project.sql_splitter import ScriptStatement, place

_WIDTH = 120
_CONTEXT_LINES = 4


class ProjectError(Exception):
    """A task of the project cannot be done; the text is shown to the user."""


class ProjectRejected(ProjectError):
    """The folder or the history cannot be used as it is."""


class HistoryDisagrees(ProjectRejected):
    """The history of the database and the folder have different migrations, so none is applied."""


class SplitRejected(ProjectError):
    """A file cannot be split into SQL statements."""

    def __init__(self, file: str, text: str, offset: int, message: str) -> None:
        line, column = place(text, offset)
        self.file, self.line = file, line
        excerpt = _with_caret(text, offset)
        super().__init__(
            f"{file}, line {line}, column {column}: {message}\n\n{excerpt}\n\nNothing of it was run."
        )


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """The statement that failed: file, number from 1, and the statement."""

    file: str
    number: int
    statement: ScriptStatement


class ScriptFailed(ProjectError):
    """The database rejected a statement of a file."""

    def __init__(self, where: StatementPlace, error: asyncpg.PostgresError, aftermath: str) -> None:
        self.file, self.number, self.sqlstate = where.file, where.number, error.sqlstate
        self.line, excerpt = _excerpt(where.statement, error)
        head = f"{where.file}, statement {where.number}, line {self.line}: {error.message} ({error.sqlstate})"
        parts = [head, "", excerpt, "", *_remarks(error), aftermath]
        super().__init__("\n".join(parts))


def _excerpt(statement: ScriptStatement, error: asyncpg.PostgresError) -> tuple[int, str]:
    """Return the line in the file, and the text with a caret at the server's error position."""
    position = error.position
    if position is not None and str(position).isdigit():
        offset = int(position) - 1
        line, _ = place(statement.text, offset)
        return statement.line + line - 1, _with_caret(statement.text, offset)
    line, _ = place(statement.text, statement.head)
    first = statement.text[statement.head :].splitlines()[:_CONTEXT_LINES]
    return statement.line + line - 1, "\n".join(f"  {_cut(line_text, 0)[0]}" for line_text in first)


def _with_caret(text: str, offset: int) -> str:
    """Return the line of a character with a caret below it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    part, column = _cut(line.replace("\t", " "), offset - start)
    return f"  {part}\n  {' ' * column}^"


def _cut(line: str, column: int) -> tuple[str, int]:
    """Return the part of a long line around a column, and the column in that part."""
    if len(line) <= _WIDTH:
        return line, column
    start = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
    part = line[start : start + _WIDTH]
    return f"{'…' if start else ''}{part}…", column - start + (1 if start else 0)


def _remarks(error: asyncpg.PostgresError) -> list[str]:
    """Return the lines that the server adds: detail, hint, position inside functions."""
    remarks = [("Detail", error.detail), ("Hint", error.hint), ("Inside", error.context)]
    internal = getattr(error, "internal_query", None)
    if internal and not error.position:
        remarks.insert(2, ("Query", internal))
    return [f"{name}: {text}" for name, text in remarks if text]
