"""The response of POST /token: a session, and headers that state whose it is and how its refresh token was obtained. Pure.

Logs and proxies read the headers, so that they need not decode tokens. Source: docs/reference/auth.md, section 2.4.
"""

from typing import NamedTuple

from schemas.http import Headers
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.model.claims import SignInMethod
from workers.auth.model.user_json import JsonObject


class TokenResponse(NamedTuple):
    """The JSON of a session, and the grant that it was made from."""

    session: JsonObject
    grant: SessionGrant

    @property
    def headers(self) -> Headers:
        """Return headers with the user, the session, the number of its token, and whether an older refresh token was accepted."""
        session, causes = self.grant.session, self.grant.causes
        fields: Headers = [
            ("sb-auth-user-id", str(session.user_id)),
            ("sb-auth-session-id", str(session.id)),
        ]
        if session.refresh_token_counter is not None:
            fields.append(("sb-auth-refresh-token-counter", str(session.refresh_token_counter)))
        if self.grant.way is SignInMethod.TOKEN_REFRESH:
            fields.append(("sb-auth-refresh-token-reuse", "true" if causes else "false"))
        if causes:
            fields.append(("sb-auth-refresh-token-reuse-cause", ",".join(causes)))
        if self.grant.is_rotated:
            fields.append(("sb-auth-refresh-token-rotated", "true"))
        return fields
