"""The error of a text that a person wrote: which statement failed, and where."""

from typing import Any

from workers.database.errors import DatabaseError
from workers.management.interface.errors import ManagementError
from workers.project.sql_splitter import ScriptStatement, SplitError, place


class SqlFailed(ManagementError):
    """A statement of a text failed. `body` has its index and line, the column of the error, and the results before it."""

    def __init__(
        self,
        error: DatabaseError,
        text: str = "",
        script: ScriptStatement | None = None,
        index: int = 0,
        results: list[Any] | None = None,
        outcome: str = "",
    ) -> None:
        super().__init__(_status(error), error.code, error.message, hint=error.hint or "")
        line = column = None
        if script is not None:
            offset = script.offset + (script.head if error.position is None else error.position - 1)
            line, column = place(text, min(offset, len(text)))
        self._fields = {
            "severity": error.severity,
            "details": error.details,
            "context": error.context,
            "position": error.position,
            "schema": error.schema,
            "table": error.table,
            "constraint": error.constraint,
            "statement": index,
            "line": line,
            "column": column,
            "outcome": outcome or None,
            "results": results or None,
        }

    def body(self) -> dict[str, object]:
        """Return code, message, hint, and the fields that are known."""
        fields = {name: value for name, value in self._fields.items() if value is not None}
        return {**super().body(), **fields}


def cannot_split(error: SplitError, text: str) -> ManagementError:
    """Return the error of a text that cannot be split into statements."""
    line, column = place(text, error.offset)
    return ManagementError(400, "42601", f"Line {line}, column {column}: {error.message}")


def _status(error: DatabaseError) -> int:
    if error.code == "42501":
        return 403
    if error.code == "57014":
        return 504 if "timeout" in error.message else 409
    return 409 if error.code.startswith(("23", "40")) else 400
