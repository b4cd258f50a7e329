"""The user that the path of an admin's request names: `/admin/users/{id}/...`. Who was deleted softly is nobody.

Source: reference page "auth", sections 16.3 and 16.8.
"""

from uuid import UUID

from workers.auth.accounts.users import users
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


def named_id(asked: Asked) -> UUID:
    """Read the id in the path. Raises: AuthError (404)."""
    try:
        return UUID(asked.parameters["id"])
    except ValueError:
        raise rejections.USER_ID() from None


async def named_user(transaction: Transaction, asked: Asked, *, even_deleted: bool = False) -> User:
    """Find the user. Raises: AuthError (404)."""
    user = await users.find_by_id(transaction, named_id(asked), even_deleted=even_deleted)
    if user is None:
        raise rejections.USER_NOT_FOUND()
    return user


async def locked_user(transaction: Transaction, asked: Asked) -> User:
    """Find the user and keep others from changing it until the transaction ends. Raises: AuthError (404)."""
    await users.lock(transaction, named_id(asked))
    return await named_user(transaction, asked)
