"""Accounts that an admin begins for somebody else, who confirms the address by a link: invited, or signed up.

Metadata are exactly what the admin gives. An account that somebody has begun with the address, and never confirmed,
becomes the invited one's: whoever waits in it for the owner of the address is shut out, and its password is void.
Source: reference page "auth", sections 2.1, 16.6 and 16.7.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from workers.auth.accounts.users import newcomers, users
from workers.auth.accounts.users.shown import merged
from workers.auth.accounts.users.users import NewUser
from workers.auth.context import Accounts
from workers.auth.federation.social import account
from workers.auth.model import rejections
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction

T = TypeVar("T")


def invited(
    accounts: Accounts, aud: str, email: str, data: Metadata | None, password_hash: str = ""
) -> NewUser:
    """Give the account that an invited address gets: not confirmed, and without a password nobody enters it by one."""
    return NewUser(
        aud=aud,
        role=accounts.settings.jwt_default_group_name,
        email=email,
        password_hash=password_hash,
        app_metadata={"provider": "email", "providers": ["email"]},
        user_metadata=data or {},
    )


async def with_invited(
    accounts: Accounts,
    new: NewUser,
    client: str,
    work: Callable[[Transaction, User], Awaitable[T]],
    *,
    is_invitation: bool,
) -> T:
    """Make the account, or take over one that was never confirmed, and do work with it in the same transaction.

    Raises: AuthError (422) if the address is confirmed already.
    """

    async def prepare(transaction: Transaction, user: User) -> T | None:
        await users.lock(transaction, user.id)
        user = await account.again(transaction, user.id)
        if user.email_confirmed_at is not None:
            return None
        is_new = user.id == new.id
        if not is_new and user.confirmed_at is None:
            await account.drop_all_else(transaction, user.id, "email", str(user.id))
        change = users.Change(
            invited_at=accounts.now() if is_invitation else None,
            password_hash=None if is_new else new.password_hash or None,
            user_metadata=None if is_new else merged(user.raw_user_meta_data, new.user_metadata),
        )
        return await work(transaction, await users.change(transaction, user, change))

    def is_welcome() -> None:
        """Admins invite whom they like, whoever may sign up."""

    done, _ = await newcomers.with_account(accounts, new, client, is_welcome, prepare)
    if done is None:
        raise rejections.EMAIL_EXISTS()
    return done
