"""Users that an administrator creates for another person, who confirms the address by a link: invited, or signed up.

Metadata are exactly what the administrator passed. An account that someone signed up with the address and never confirmed is
taken over: whatever gave access to it is deleted, and its password becomes invalid.
Source: docs/reference/auth.md, sections 2.1, 16.6 and 16.7.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from workers.auth.accounts.users import account_changes, users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.flows import sign_up
from workers.auth.model import rejections
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.auth.model.user_json import merged_metadata
from workers.database.transactions.interactive import Transaction

T = TypeVar("T")


def invited_user(
    context: DeliveryContext, aud: str, email: str, data: Metadata | None, password_hash: str = ""
) -> NewUser:
    """Return the user that an invited address gets: not confirmed, and without a password unless a hash is passed."""
    return NewUser(
        aud=aud,
        role=context.settings.jwt_default_group_name,
        email=email,
        password_hash=password_hash,
        app_metadata={"provider": "email", "providers": ["email"]},
        user_metadata=data or {},
    )


async def with_invited(
    context: DeliveryContext,
    new: NewUser,
    client: str,
    work: Callable[[Transaction, AuthUser], Awaitable[T]],
    *,
    is_invitation: bool,
) -> T:
    """Create the user, or take over one that was never confirmed, and run `work` with it in the same transaction.

    Raises: AuthError (422) if the address is confirmed already.
    """

    async def prepare(transaction: Transaction, user: AuthUser) -> T | None:
        await users.lock(transaction, user.id)
        user = await account_changes.reload(transaction, user.id)
        if user.email_confirmed_at is not None:
            return None
        is_new = user.id == new.id
        if not is_new and user.confirmed_at is None:
            await account_changes.drop_all_else(transaction, user.id, "email", str(user.id))
        change = users.UserChange(
            invited_at=context.now() if is_invitation else None,
            password_hash=None if is_new else new.password_hash or None,
            user_metadata=None if is_new else merged_metadata(user.raw_user_meta_data, new.user_metadata),
        )
        return await work(transaction, await users.change(transaction, user, change))

    # Invitations do not depend on whether sign-ups are enabled.
    done, _ = await sign_up.with_account(context, new, client, sign_up.allow_any, prepare)
    if done is None:
        raise rejections.EMAIL_EXISTS()
    return done
