"""A hook that is a function of the database: it takes one jsonb and gives one.

It runs as the role of the accounts, in a transaction of its own that is over before the request goes on. Source:
reference page "auth", section 17.
"""

from dataclasses import dataclass

from workers.auth.delivery.hooks.over_http import MOST_BYTES
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, RaisedError, refusal_of
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.sql import compose

TIMEOUT_S = 2.0
_CANCELLED, _LOCKED = "57014", "55P03"


class FunctionFailed(AuthError):
    """The function is not there, may not be run, or stumbled; `sqlstate` is for the log."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(Code.UNEXPECTED_FAILURE, "The hook's function failed")
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class DatabaseHook:
    """A function by its name."""

    schema: str
    function: str
    database: Pool
    timeout_s: float = TIMEOUT_S

    async def ask(self, id: str, body: bytes) -> bytes:
        """Call the function and give the JSON of its answer; SQL's null is `null`.

        Raises: AuthError, RaisedError with the function's own words among them; Disconnected and its siblings.
        """
        del id  # it stands in the metadata; there is nobody to tell it apart from
        limit = f"{self.timeout_s * 1000:.0f}ms"
        settings = (("search_path", "auth"), ("statement_timeout", limit))
        try:
            async with self.database.transaction(settings) as transaction:
                found = await transaction.rows(self._statement, body)
        except DatabaseError as error:
            raise self._failure(error) from None
        answer = (found[0][0] if found else None) or b"null"
        if len(answer) > MOST_BYTES:
            raise AuthError(
                Code.HOOK_PAYLOAD_OVER_SIZE_LIMIT, f"The hook's answer is longer than {MOST_BYTES} bytes"
            )
        return answer

    @property
    def _statement(self) -> str:
        # As text, so that a plan outlives a function that is made anew with another type.
        called = compose.qualified(self.schema, self.function)
        return compose.render(compose.raw("select ") + called + compose.raw("($1::jsonb)::text"))[0]

    def _failure(self, error: DatabaseError) -> AuthError:
        if error.code in (_CANCELLED, _LOCKED):
            return AuthError(
                Code.HOOK_TIMEOUT, f"Failed to reach hook within maximum time of {self.timeout_s:g} seconds"
            )
        refusal = refusal_of(error)
        return refusal if isinstance(refusal, RaisedError) else FunctionFailed(error.code)
