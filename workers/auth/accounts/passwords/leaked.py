"""New passwords: strong enough, and not on the list of leaked ones.

The list is asked for all hashes that begin with five digits; answers are padded, so that their size tells nothing
either. Source: reference page "auth", section 19; the list's "range" interface.
"""

from workers.auth.accounts.passwords.strength import LeakedListUnavailable, Weakness, is_leaked, weakness_of
from workers.auth.context import Accounts
from workers.http_client.client import FetchFailed

_TIMEOUT_S = 5.0
"""A new password is rare, and worth the wait."""
_SIGN_IN_TIMEOUT_S = 1.0
"""At a sign-in the answer is only a hint."""


async def refuse_weak(accounts: Accounts, password: str) -> None:
    """Raise if a new password breaks the rules or has leaked.

    Raises: WeakPassword (422); AuthError (500) if the list is away and the settings want it asked.
    """
    own = accounts.settings.password.hibp
    weakness = await _weakness(accounts, password, timeout_s=_TIMEOUT_S, fail_closed=own.fail_closed)
    if weakness is not None:
        raise weakness.refusal()


async def weakness_at_sign_in(accounts: Accounts, password: str) -> Weakness | None:
    """Tell what a right password lacks by today's rules; nobody is kept out for it."""
    return await _weakness(accounts, password, timeout_s=_SIGN_IN_TIMEOUT_S, fail_closed=False)


async def _weakness(
    accounts: Accounts, password: str, *, timeout_s: float, fail_closed: bool
) -> Weakness | None:
    own = accounts.settings.password.hibp

    async def ask(prefix: str) -> str:
        headers = {"add-padding": "true", "user-agent": own.user_agent or "headwater"}
        try:
            answer = await accounts.outgoing.fetch(
                "GET", accounts.services.leaked_passwords + prefix, headers=headers, timeout_s=timeout_s
            )
        except FetchFailed as error:
            raise LeakedListUnavailable(str(error)) from None
        if answer.status != 200:
            raise LeakedListUnavailable(f"the list answered with status {answer.status}")
        return answer.body.decode("ascii", "replace")

    leaked = own.enabled and await is_leaked(password, ask, fail_closed=fail_closed)
    return weakness_of(password, accounts.strength, is_leaked=leaked)
