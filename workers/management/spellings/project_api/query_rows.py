"""The rows of `sql.run` as the official interface returns them: JSON values by column. Pure."""

from workers.management.interface.errors import ManagementError
from workers.management.operations.sql import SqlResults
from workers.management.spellings.schema_metadata.query_session import ResultRows
from workers.management.spellings.schema_metadata.query_values import rows_as_json


def last_rows(answer: SqlResults) -> bytes:
    """Return the rows of the last statement as a JSON array. Raises: ManagementError (413) if some were left out."""
    result = answer.results[-1]
    if result.is_truncated or result.shortened:
        raise ManagementError(
            413,
            "too_many_rows",
            "The SQL was run, but its result is too long to be returned",
            hint="Add a `limit`, or raise management.max_rows.",
        )
    columns = [(column.name, column.type_id) for column in result.columns]
    rows = [tuple(None if cell is None else cell.encode() for cell in row) for row in result.rows]
    return rows_as_json(ResultRows(columns, rows))
