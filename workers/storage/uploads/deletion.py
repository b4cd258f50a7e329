"""Delete one object with the caller's rights, under a condition or without one.

Without a condition it is one round trip. With one, the delete is tried behind a savepoint first, so that a caller whom
the policies forbid the delete learns nothing about the object; then the row is locked and compared, then deleted.
Source: RFC 9110, 13.1.1; docs/reference/storage.md, sections 6.8 and 6.11.
"""

from workers.database.transactions.interactive import decode_first, statement
from workers.storage.model.errors import StorageError, access_denied, no_such_key
from workers.storage.objects.rows import SQL, ObjectRow
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.rows import lock_statement, try_out
from workers.storage.uploads.write_conditions import WriteCondition


async def delete_object(
    context: StorageContext, request: StorageRequest, bucket: str, key: str, condition: WriteCondition | None
) -> None:
    """Delete an object. `key` is in NFC.

    Raises: StorageError: 404, 403 if the object exists but may not be deleted, 412; DatabaseError and its siblings.
    """
    if condition is not None:
        await context.tasks.run(_delete_under_condition(context, request, bucket, key, condition))
        return
    gone, _, left = await context.run(
        request.as_caller(),
        statement(SQL["delete"], bucket, key),
        switch_role(SERVICE),
        statement(SQL["is_there"], bucket, key),
    )
    if not gone:
        raise _not_deleted(is_there=bool(left))


async def _delete_under_condition(
    context: StorageContext, request: StorageRequest, bucket: str, key: str, condition: WriteCondition
) -> None:
    delete = statement(SQL["delete"], bucket, key)
    async with context.database.transaction(request.as_caller(), writes=True) as transaction:
        [may] = await try_out(transaction, delete)
        _, _, rows = await transaction.run(
            switch_role(SERVICE), lock_statement(bucket, key), statement(SQL["locked"], bucket, key)
        )
        if not may:
            raise _not_deleted(is_there=bool(rows))
        condition.check(decode_first(rows, ObjectRow))
        _, gone = await transaction.run(switch_role(request.caller), delete)
        if not gone:
            raise no_such_key()


def _not_deleted(*, is_there: bool) -> StorageError:
    return access_denied() if is_there else no_such_key()
