"""Lets Postgres parse statements without running them.

A `do` block whose first statement is `return` is compiled, which parses every statement in it, and runs nothing. So an error has the
message and the position that the statement itself would have. Names are not looked up.
Source: PostgreSQL, "PL/pgSQL under the Hood".
"""

from dataclasses import replace

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.errors import SqlRejected

_HEAD = " begin return; "
_TAG = "headwater_plan"


async def check_syntax(database: ManagementDatabase, statements: list[str], timeout_s: float) -> None:
    """Parse statements, each by itself. Raises: SqlRejected for the first that is not SQL; Disconnected, PoolTimeout."""
    for text in statements:
        tag = _free_tag(text)
        block = f"do ${tag}${_HEAD}{text}\n; end ${tag}$"
        try:
            await database.read(statement(block), timeout_s=timeout_s)
        except DatabaseError as error:
            start = len(f"do ${tag}${_HEAD}")
            position = None if error.position is None else max(1, error.position - start)
            raise SqlRejected(replace(error, position=position, context=None)) from None


def _free_tag(text: str) -> str:
    """Return the tag of a dollar quote that does not occur in a text."""
    tag = _TAG
    while f"${tag}$" in text:
        tag += "_"
    return tag
