"""Users who sign up themselves: with an address and a password, or with an address alone (one-time codes).

`with_account` finds or creates the user of an address and runs the caller's work in the same transaction. Hooks are called
outside of it, because they may take seconds. Source: docs/reference/auth.md, sections 4.1, 5.2 and 17.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from workers.auth.accounts.users import users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.database.transactions.interactive import Transaction

T = TypeVar("T")

Work = Callable[[Transaction, AuthUser], Awaitable[T]]

_TAKEN = (ErrorCode.EMAIL_EXISTS, ErrorCode.PHONE_EXISTS)
_MAX_TRIES = 3


def is_confirmed_at_once(context: DeliveryContext, new: NewUser) -> bool:
    """Return whether the address of a new user counts as confirmed without a proof."""
    settings = context.settings
    return not (settings.email.enable_confirmations if new.email else settings.sms.enable_confirmations)


def new_user(
    context: DeliveryContext,
    aud: str,
    *,
    email: str = "",
    phone: str = "",
    password_hash: str = "",
    data: Metadata | None = None,
) -> NewUser:
    """Return the user that an address gets. Without a password hash, a password sign-in is impossible."""
    provider, address = ("email", email) if email else ("phone", phone)
    new = NewUser(
        aud=aud,
        role=context.settings.jwt_default_group_name,
        email=email,
        phone=phone,
        password_hash=password_hash,
        app_metadata={"provider": provider, "providers": [provider]},
    )
    is_confirmed, now = is_confirmed_at_once(context, new), context.now()
    claims: Metadata = {
        "sub": str(new.id),
        provider: address,
        "email_verified": is_confirmed and bool(email),
        "phone_verified": is_confirmed and bool(phone),
    }
    return replace(
        new,
        user_metadata={**(data or {}), **claims},
        profile=data or {},
        email_confirmed_at=now if is_confirmed and email else None,
        phone_confirmed_at=now if is_confirmed and phone else None,
        is_proven=False,
    )


async def find_existing(transaction: Transaction, new: NewUser) -> AuthUser | None:
    """Find the user who has the address already."""
    if new.email:
        return await users.find_by_email(transaction, new.email, new.aud)
    return await users.find_by_phone(transaction, new.phone, new.aud)


def allow_any() -> None:
    """Serve as the `reject_new` of `with_account` where any user may be created."""


def has_confirmed(user: AuthUser, new: NewUser) -> bool:
    """Return whether the address of a user is confirmed."""
    return (user.email_confirmed_at if new.email else user.phone_confirmed_at) is not None


async def with_account(
    context: DeliveryContext, new: NewUser, client: str, reject_new: Callable[[], None], work: Work[T]
) -> tuple[T, bool]:
    """Run `work` with the user of an address, created if it does not exist; return its result and whether the user was created.

    `reject_new` raises if no user may be created. `work` may send a message to the address as its last step; if it raises, no
    user is created. Raises: AuthError.
    """
    is_hook_called = False
    for left in reversed(range(_MAX_TRIES)):
        async with context.transaction() as transaction:
            user = await find_existing(transaction, new)
        if user is None and not is_hook_called:
            reject_new()
            await context.hooks.before_user_created(new, client)
            is_hook_called = True
        try:
            async with context.sending(new.email or new.phone) as transaction:
                user, created = await find_existing(transaction, new), None
                if user is None:
                    user = created = await users.create(transaction, new)
                result = await work(transaction, user)
        except AuthError as error:  # the unique index decides between concurrent sign-ups
            if error.code in _TAKEN and left:
                continue  # a concurrent request created a user with the same address
            raise
        if created is not None:
            await context.hooks.after_user_created(created, client)
        return result, created is not None
    raise AssertionError("the last try returns or raises")
