"""Refusals of the project's work, each with all that its reader needs: place, reason, cure.

ProjectError
|- Refused       the folder or the history cannot be worked with as it is
|- SplitRefused  a file that is no SQL
`- ScriptFailed  the database refused a statement of a file
"""

from dataclasses import dataclass

import asyncpg

from workers.project.split import Statement, place

_WIDTH = 120
_CONTEXT_LINES = 4


class ProjectError(Exception):
    """Something of the project cannot be done; the text is what the user reads."""


class Refused(ProjectError):
    """The folder or the history cannot be worked with as it is."""


class SplitRefused(ProjectError):
    """A file that cannot be split into statements."""

    def __init__(self, file: str, text: str, offset: int, message: str) -> None:
        line, column = place(text, offset)
        self.file, self.line = file, line
        shown = _pointed(text, offset)
        super().__init__(
            f"{file}, line {line}, column {column}: {message}\n\n{shown}\n\nNothing of it was run."
        )


@dataclass(frozen=True, slots=True)
class Where:
    """The statement that failed: file, number from 1, and itself."""

    file: str
    number: int
    statement: Statement


class ScriptFailed(ProjectError):
    """The database refused a statement of a file."""

    def __init__(self, where: Where, error: asyncpg.PostgresError, aftermath: str) -> None:
        self.file, self.number, self.sqlstate = where.file, where.number, error.sqlstate
        self.line, shown = _shown(where.statement, error)
        head = f"{where.file}, statement {where.number}, line {self.line}: {error.message} ({error.sqlstate})"
        parts = [head, "", shown, "", *_remarks(error), aftermath]
        super().__init__("\n".join(parts))


def _shown(statement: Statement, error: asyncpg.PostgresError) -> tuple[int, str]:
    """Give the line in the file, and the text with a caret where the server pointed."""
    position = error.position
    if position is not None and str(position).isdigit():
        offset = int(position) - 1
        line, _ = place(statement.text, offset)
        return statement.line + line - 1, _pointed(statement.text, offset)
    line, _ = place(statement.text, statement.head)
    first = statement.text[statement.head :].splitlines()[:_CONTEXT_LINES]
    return statement.line + line - 1, "\n".join(f"  {_cut(each, 0)[0]}" for each in first)


def _pointed(text: str, offset: int) -> str:
    """Give the line of a character with a caret under it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    shown, column = _cut(line.replace("\t", " "), offset - start)
    return f"  {shown}\n  {' ' * column}^"


def _cut(line: str, column: int) -> tuple[str, int]:
    """Give a part of a long line that holds a column, and the column in it."""
    if len(line) <= _WIDTH:
        return line, column
    start = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
    part = line[start : start + _WIDTH]
    return f"{'…' if start else ''}{part}…", column - start + (1 if start else 0)


def _remarks(error: asyncpg.PostgresError) -> list[str]:
    """Give what the server adds: detail, hint, where it was inside of functions."""
    told = [("Detail", error.detail), ("Hint", error.hint), ("Inside", error.context)]
    internal = getattr(error, "internal_query", None)
    if internal and not error.position:
        told.insert(2, ("Query", internal))
    return [f"{name}: {text}" for name, text in told if text]
