"""Accounts that their owners make: of an address and a password, or of an address alone (one-time codes).

`with_account` finds or makes the account of an address and does the caller's work in the same transaction; hooks are
asked outside of it. Source: reference page "auth", sections 4.1, 5.2 and 17.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from workers.auth.accounts.users import users
from workers.auth.accounts.users.users import NewUser
from workers.auth.context import Accounts
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction

T = TypeVar("T")

Work = Callable[[Transaction, User], Awaitable[T]]

_TAKEN = (Code.EMAIL_EXISTS, Code.PHONE_EXISTS)
_TRIES = 3


def is_confirmed_at_once(accounts: Accounts, new: NewUser) -> bool:
    """Tell whether the address of a new account counts as confirmed."""
    own = accounts.settings
    return not (own.email.enable_confirmations if new.email else own.sms.enable_confirmations)


def newcomer(
    accounts: Accounts,
    aud: str,
    *,
    email: str = "",
    phone: str = "",
    password_hash: str = "",
    data: Metadata | None = None,
) -> NewUser:
    """Give the account that an address gets. Without a password nobody enters it by one."""
    provider, address = ("email", email) if email else ("phone", phone)
    new = NewUser(
        aud=aud,
        role=accounts.settings.jwt_default_group_name,
        email=email,
        phone=phone,
        password_hash=password_hash,
        app_metadata={"provider": provider, "providers": [provider]},
    )
    is_confirmed, now = is_confirmed_at_once(accounts, new), accounts.now()
    claims: Metadata = {
        "sub": str(new.id),
        provider: address,
        "email_verified": is_confirmed and bool(email),
        "phone_verified": is_confirmed and bool(phone),
    }
    return replace(
        new,
        user_metadata={**(data or {}), **claims},
        told=data or {},
        email_confirmed_at=now if is_confirmed and email else None,
        phone_confirmed_at=now if is_confirmed and phone else None,
        is_proven=False,
    )


async def known(transaction: Transaction, new: NewUser) -> User | None:
    """Find the account that has the address already."""
    if new.email:
        return await users.find_by_email(transaction, new.email, new.aud)
    return await users.find_by_phone(transaction, new.phone, new.aud)


def has_confirmed(user: User, new: NewUser) -> bool:
    """Tell whether the address of an account is confirmed."""
    return (user.email_confirmed_at if new.email else user.phone_confirmed_at) is not None


async def with_account(
    accounts: Accounts, new: NewUser, client: str, refuse_new: Callable[[], None], work: Work[T]
) -> tuple[T, bool]:
    """Do work with the account of an address, made if there is none; tell whether it was.

    `refuse_new` raises where none may be made. Raises: AuthError.
    """
    is_asked = False
    for left in reversed(range(_TRIES)):
        async with accounts.transaction() as transaction:
            user = await known(transaction, new)
        if user is None and not is_asked:
            refuse_new()
            await accounts.hooks.before_user_created(new, client)
            is_asked = True
        try:
            async with accounts.transaction() as transaction:
                user, made = await known(transaction, new), None
                if user is None:
                    user = made = await users.make(transaction, new)
                result = await work(transaction, user)
        except AuthError as error:
            if error.code in _TAKEN and left:
                continue  # somebody was quicker with the same address
            raise
        if made is not None:
            await accounts.hooks.after_user_created(made, client)
        return result, made is not None
    raise AssertionError("the last try returns or raises")
