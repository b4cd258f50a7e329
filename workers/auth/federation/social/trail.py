"""What the audit log says of an entry from outside, but for the session that may follow (`audit.login`).

Source: reference page "auth", sections 11.3 and 16.10.
"""

from workers.auth import audit
from workers.auth.accounts.users.linking import Entry
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.model.request import Asked
from workers.database.session import Statement


def trail(
    accounts: Accounts, asked: Asked, entry: Entry, provider: str, deed: Action | None = None
) -> list[Statement]:
    """Give the entries, to be written along. `deed` is what was wanted besides entering: to link, to accept an invitation."""
    return [
        each
        for action in _actions(entry, deed)
        for each in audit.entry(accounts, asked, action, entry.user, {"provider": provider})
    ]


def _actions(entry: Entry, deed: Action | None) -> list[Action]:
    """Tell what happened. An account that waits for its confirmation is signed up when it is confirmed."""
    done = [deed] if deed else []
    if entry.refusal is not None:
        if entry.mail is not None:
            return [*done, Action.USER_CONFIRMATION_REQUESTED]
        return done or [Action.LOGIN_FAILED]
    if entry.is_new:
        return [Action.USER_SIGNED_UP]
    return done or ([Action.IDENTITY_LINKED] if entry.linked else [])
