"""POST (grant) and DELETE (revoke) of rights on relations and columns: each body is an array, carried out in one transaction."""

import msgspec

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import convert_list
from workers.management.spellings.schema_metadata.changes.privileges import (
    COLUMN_GRANTED,
    COLUMN_REVOKED,
    TABLE_GRANTED,
    TABLE_REVOKED,
    on_column,
    on_relation,
)
from workers.management.spellings.schema_metadata.errors import not_there
from workers.management.spellings.schema_metadata.reads import CatalogSession, Filter, json_list
from workers.management.spellings.schema_metadata.request import MOST_OID, text_array
from workers.management.spellings.schema_metadata.writes import ObjectChange
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.spellings.schema_metadata", "writes.sql")


async def change_table_rights(
    session: CatalogSession, body: object, recorded: ObjectChange, *, grants: bool
) -> None:
    """Grant or revoke rights on relations; the answer lists all rights on them. Raises: MetadataError, DatabaseError."""
    entries = convert_list(body, TABLE_GRANTED if grants else TABLE_REVOKED)
    ids = list(dict.fromkeys(str(entry["relation_id"]) for entry in entries))
    for entry in entries:
        if not 0 <= entry["relation_id"] <= MOST_OID:
            raise not_there(f"a relation with ID {entry['relation_id']}")
    relations = await _names(session, "relations", ids, "relation")
    await session.run(
        *[on_relation(relations[str(entry["relation_id"])], entry, grants=grants) for entry in entries]
    )
    objects = await session.list("table_privileges", Filter(ids=text_array(ids)))
    recorded.after = json_list(objects)


async def change_column_rights(
    session: CatalogSession, body: object, recorded: ObjectChange, *, grants: bool
) -> None:
    """Grant or revoke rights on columns; the answer lists all rights on them. Raises: MetadataError, DatabaseError."""
    entries = convert_list(body, COLUMN_GRANTED if grants else COLUMN_REVOKED)
    ids = list(dict.fromkeys(str(entry["column_id"]) for entry in entries))
    columns = await _names(session, "relation_columns", ids, "column")
    await session.run(*[on_column(columns[entry["column_id"]], entry, grants=grants) for entry in entries])
    objects = await session.list("column_privileges", Filter(column_ids=text_array(ids)))
    recorded.after = json_list(objects)


async def _names(
    session: CatalogSession, statement: str, ids: list[str], noun: str
) -> dict[str, dict[str, str]]:
    """Return the names of objects by their ids. Raises: MetadataError (404) for an id without an object."""
    [rows] = await session.run(Statement(_SQL[statement], [text_array(ids)]))
    named = {
        (id or b"").decode(): msgspec.json.decode(names or b"{}", type=dict[str, str]) for id, names in rows
    }
    for id in ids:
        if id not in named:
            raise not_there(f"a {noun} with ID {id}")
    return named
