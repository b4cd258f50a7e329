"""The user that the path of an admin request names: `/admin/users/{id}/...`. Softly deleted users are not found.

Source: docs/reference/auth.md, sections 16.3 and 16.8.
"""

from uuid import UUID

from workers.auth.accounts.users import users
from workers.auth.model import rejections
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


def path_user_id(request: AuthRequest) -> UUID:
    """Parse the id in the path. Raises: AuthError (404)."""
    try:
        return UUID(request.parameters["id"])
    except ValueError:
        raise rejections.USER_ID() from None


async def path_user(
    transaction: Transaction, request: AuthRequest, *, even_deleted: bool = False
) -> AuthUser:
    """Find the user. Raises: AuthError (404)."""
    user = await users.find_by_id(transaction, path_user_id(request), even_deleted=even_deleted)
    if user is None:
        raise rejections.USER_NOT_FOUND()
    return user


async def lock_path_user(transaction: Transaction, request: AuthRequest) -> AuthUser:
    """Find the user and lock it until the transaction ends. Raises: AuthError (404)."""
    await users.lock(transaction, path_user_id(request))
    return await path_user(transaction, request)
