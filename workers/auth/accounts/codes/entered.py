"""What POST /token answers: a session, and in headers whose it is and how its refresh token came about. Pure.

Logs and proxies read the headers, so that they need not look into tokens. Source: reference page "auth", section 2.4.
"""

from typing import NamedTuple

from schemas.http import Headers
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.sessions import Granted
from workers.auth.accounts.users.shown import Shown


class Entered(NamedTuple):
    """A session as its client sees it, and as it was granted."""

    shown: Shown
    granted: Granted

    @property
    def headers(self) -> Headers:
        """Tell whose session it is, the number of its token, and whether a refresh took an older one."""
        session, causes = self.granted.session, self.granted.causes
        told: Headers = [
            ("sb-auth-user-id", str(session.user_id)),
            ("sb-auth-session-id", str(session.id)),
        ]
        if session.refresh_token_counter is not None:
            told.append(("sb-auth-refresh-token-counter", str(session.refresh_token_counter)))
        if self.granted.way is Method.TOKEN_REFRESH:
            told.append(("sb-auth-refresh-token-reuse", "true" if causes else "false"))
        if causes:
            told.append(("sb-auth-refresh-token-reuse-cause", ",".join(causes)))
        if self.granted.is_rotated:
            told.append(("sb-auth-refresh-token-rotated", "true"))
        return told
