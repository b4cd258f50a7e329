"""DeleteObject and DeleteObjects, with conditions on the state of each object.

An object is deleted first and its condition is checked on the row that the statement returned, in the same transaction:
what was compared is what was deleted. If a condition is false the deletion is rolled back. A missing object is deleted already: no
condition on its state fails.
Source: docs/reference/storage.md, section 10; DeleteObject and DeleteObjects of the Amazon S3 API reference.
"""

from collections.abc import Mapping

import msgspec

from schemas.http import Response
from workers.database.transactions.interactive import Transaction, statement
from workers.storage.buckets.rows import read_rules
from workers.storage.model.errors import StorageError, access_denied
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.objects.rows import SQL, ObjectRow
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.s3.conditions import S3WriteCondition, condition_of_deletion, condition_of_key
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import malformed_xml, s3_error_of
from workers.storage.s3.protocol.request import S3Request

_MOST_DELETED = 1000
_SAVEPOINT = "savepoint deletion"
_ROLL_BACK = "rollback to savepoint deletion"

Conditions = dict[str, S3WriteCondition | None]
"""The condition of each name of an object."""


async def delete(context: StorageContext, request: S3Request) -> Response:
    """DeleteObject: succeeds for a missing object of an existing bucket, fails if the caller's policies forbid it."""
    name, condition = existing_key(request.key), condition_of_deletion(request)
    if condition is not None:
        errors = await context.tasks.run(_delete_all(context, request, {name: condition}))
        if name in errors:
            raise errors[name]
        return Response(204)
    gone, _, left = await context.run(
        request.storage_request.as_caller(),
        statement(SQL["delete"], request.bucket, name),
        switch_role(SERVICE),
        statement(SQL["is_there"], request.bucket, name),
    )
    if left and not gone:
        raise access_denied()
    if not gone:
        await read_rules(context, request.storage_request, request.bucket)
    return Response(204)


async def delete_many(context: StorageContext, request: S3Request) -> Response:
    """DeleteObjects: up to 1000 keys, one result for each; with `Quiet` only the errors."""
    document = xml.read(request.storage_request.body, "Delete")
    nodes = document.all("Object")
    if not 1 <= len(nodes) <= _MOST_DELETED:
        raise malformed_xml()
    errors: dict[str, StorageError] = {}
    names: dict[str, str] = {}
    conditions: Conditions = {}
    for node in nodes:
        key, condition = node.value("Key") or "", condition_of_key(node)
        try:
            names[key] = existing_key(key)
        except StorageError as error:
            errors[key] = error
        else:
            conditions[names[key]] = condition
    refused = await context.tasks.run(_delete_all(context, request, conditions))
    errors |= {key: refused[name] for key, name in names.items() if name in refused}
    is_quiet = (document.value("Quiet") or "").strip().lower() == "true"
    items: list[xml.Item] = []
    if not is_quiet:
        items += [("Deleted", [("Key", key)]) for key in names if key not in errors]
    return xml.xml_response("DeleteResult", [*items, *map(_error_item, errors.items())])


async def _delete_all(
    context: StorageContext, request: S3Request, conditions: Conditions
) -> dict[str, StorageError]:
    """Delete the objects whose condition is true, in one transaction; return the error of each name that has one."""
    errors: dict[str, StorageError] = {}
    remaining = dict(conditions)
    async with context.database.transaction(request.storage_request.as_caller()) as transaction:
        while True:
            deleted = await _delete_named(transaction, request.bucket, remaining)
            refused = _failed(remaining, deleted)
            if not refused:
                break
            await transaction.run(statement(_ROLL_BACK))
            errors |= refused
            remaining = {name: remaining[name] for name in remaining if name not in refused}
        listed = msgspec.json.encode(list(remaining))
        _, rows = await transaction.run(
            switch_role(SERVICE), statement(SQL["visible_names"], request.bucket, listed)
        )
    if not deleted:
        await read_rules(context, request.storage_request, request.bucket)
    protected = set(msgspec.json.decode(rows[0][0] or b"[]", type=list[str]))
    return errors | {name: access_denied() for name in protected}


async def _delete_named(
    transaction: Transaction, bucket: str, conditions: Conditions
) -> dict[str, ObjectRow]:
    """Delete objects behind a savepoint and return their rows by name."""
    listed = msgspec.json.encode(list(conditions))
    _, rows = await transaction.run(statement(_SAVEPOINT), statement(SQL["delete_many"], bucket, listed))
    return {row.name: row for row in msgspec.json.decode(rows[0][0] or b"[]", type=list[ObjectRow])}


def _failed(conditions: Conditions, states: Mapping[str, ObjectRow]) -> dict[str, StorageError]:
    """Return the errors of the names whose object is not as its condition demands."""
    errors: dict[str, StorageError] = {}
    for name, row in states.items():
        condition = conditions[name]
        try:
            if condition is not None:
                condition.check(row)
        except StorageError as error:
            errors[name] = error
    return errors


def _error_item(pair: tuple[str, StorageError]) -> xml.Item:
    key, error = pair[0], s3_error_of(pair[1])
    return ("Error", [("Key", key), ("Code", error.code), ("Message", error.message)])
