"""Figures of the database server for the Metrics API of hosted projects, read when it is scraped. No operation: the gateway asks by a path."""

from msgspec import Struct

from schemas.server_figures import ServerFigures
from workers.management.areas.project.ref import project_ref
from workers.management.areas.statistics.reading import SQL, read_statistics, read_text
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.compose import quoted

_CHECKPOINTER = 170000
"""From this version on checkpoints have a view of their own."""

_Figures = dict[str, float | None]


class _ServerVersion(Struct, frozen=True):
    number: int


class _StatementsFunction(Struct, frozen=True):
    schema: str
    name: str


async def read_server_figures(context: OperationContext) -> ServerFigures:
    """Return the figures. Raises: ManagementError, DatabaseError, Disconnected, PoolTimeout."""
    ref = await project_ref(context)
    [version] = await read_statistics(context, "server_version", _ServerVersion)
    writer = "checkpointer_figures" if version.number >= _CHECKPOINTER else "bgwriter_figures"
    slot = context.configuration.realtime.slot_name
    rows: list[_Figures] = await read_statistics(context, "server_figures", _Figures, slot)
    rows += await read_statistics(context, writer, _Figures)
    for function in await read_statistics(context, "statements_function", _StatementsFunction):
        name = f"{quoted(function.schema)}.{quoted(function.name)}"
        text = SQL["statement_figures"].replace("{function}", name)
        rows += decode_rows(await read_text(context, text), _Figures)
    figures = {name: value for row in rows for name, value in row.items() if value is not None}
    return ServerFigures(ref, figures)
