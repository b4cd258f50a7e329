"""Checks new passwords: strength rules, and the list of leaked passwords (Have I Been Pwned, range API).

The request names the first five hex digits of the password's SHA-1; the response lists all hashes that begin with them,
padded, so that not even its size reveals anything. Source: docs/reference/auth.md, section 19.
"""

from workers.auth.accounts.passwords.strength import (
    LeakedListUnavailable,
    Weakness,
    is_leaked,
    rules_of,
    weakness_of,
)
from workers.auth.model.context import AuthContext
from workers.http_client.client import FetchFailed

_TIMEOUT_S = 5.0
"""For new passwords, which are rare."""
_SIGN_IN_TIMEOUT_S = 1.0
"""For sign-ins, where the result is only a hint."""


async def reject_weak(context: AuthContext, password: str) -> None:
    """Raise if a new password breaks the rules or has leaked.

    Raises: WeakPassword (422); AuthError (500) if the list cannot be reached and the settings require it.
    """
    settings = context.settings.password.hibp
    weakness = await _weakness(context, password, timeout_s=_TIMEOUT_S, fail_closed=settings.fail_closed)
    if weakness is not None:
        raise weakness.error()


async def weakness_at_sign_in(context: AuthContext, password: str) -> Weakness | None:
    """Return what a correct password lacks by today's rules; the sign-in succeeds all the same."""
    return await _weakness(context, password, timeout_s=_SIGN_IN_TIMEOUT_S, fail_closed=False)


async def _weakness(
    context: AuthContext, password: str, *, timeout_s: float, fail_closed: bool
) -> Weakness | None:
    settings = context.settings.password.hibp

    async def ask(prefix: str) -> str:
        headers = {"add-padding": "true", "user-agent": settings.user_agent or "headwater"}
        try:
            answer = await context.outgoing.fetch(
                "GET", context.services.leaked_passwords + prefix, headers=headers, timeout_s=timeout_s
            )
        except FetchFailed as error:
            raise LeakedListUnavailable(str(error)) from None
        if answer.status != 200:
            raise LeakedListUnavailable(f"the list answered with status {answer.status}")
        return answer.body.decode("ascii", "replace")

    leaked = settings.enabled and await is_leaked(password, ask, fail_closed=fail_closed)
    return weakness_of(password, rules_of(context.settings), is_leaked=leaked)
