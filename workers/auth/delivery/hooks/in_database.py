"""A hook that is a SQL function: it takes one jsonb and returns one.

It runs as the role of auth (supabase_auth_admin). A hook that sends a message runs in the transaction that prepared the
message, so it sees the new user; every other hook runs in a transaction of its own, which ends before the request goes on.
Source: docs/reference/auth.md, section 17.
"""

from dataclasses import dataclass

from workers.auth.delivery.hooks.over_http import MOST_BYTES
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, ProjectSqlError, error_from_database
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.sql import compose

TIMEOUT_S = 2.0
_CANCELLED, _LOCKED = "57014", "55P03"
_LIMIT_TIME = "select pg_catalog.set_config('statement_timeout', $1, true)"
"""Sets the longest time of each following statement of the transaction; `0` means no limit."""


class HookFunctionFailed(AuthError):
    """The function does not exist, may not be executed, or raised an error; `sqlstate` is for the log."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(ErrorCode.UNEXPECTED_FAILURE, "The hook's function failed")
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class DatabaseHook:
    """Calls a function of the database."""

    schema: str
    function: str
    database: ConnectionPool
    timeout_s: float = TIMEOUT_S

    async def ask(self, id: str, body: bytes, transaction: Transaction | None = None) -> bytes:
        """Call the function and return the JSON of its result; SQL's null is `null`.

        `transaction`: run in it; an error of the function aborts it.
        Raises: AuthError, ProjectSqlError with the function's own words among them; Disconnected and its siblings.
        """
        del (
            id
        )  # a service uses it to recognise a retry; a function is called once, and finds it in the metadata
        limit = f"{self.timeout_s * 1000:.0f}ms"
        try:
            if transaction is None:
                settings = (("search_path", "auth"), ("statement_timeout", limit))
                async with self.database.transaction(settings) as hook_transaction:
                    rows = await hook_transaction.rows(self._statement, body)
            else:
                await transaction.rows(_LIMIT_TIME, limit)
                rows = await transaction.rows(self._statement, body)
                await transaction.rows(_LIMIT_TIME, "0")
        except DatabaseError as error:
            raise self._failure(error) from None
        answer = (rows[0][0] if rows else None) or b"null"
        if len(answer) > MOST_BYTES:
            raise AuthError(
                ErrorCode.HOOK_PAYLOAD_OVER_SIZE_LIMIT, f"The hook's answer is longer than {MOST_BYTES} bytes"
            )
        return answer

    @property
    def _statement(self) -> str:
        # As text, so that a prepared plan stays valid if the function is recreated with another return type.
        called = compose.qualified(self.schema, self.function)
        return compose.render(compose.raw("select ") + called + compose.raw("($1::jsonb)::text"))[0]

    def _failure(self, error: DatabaseError) -> AuthError:
        if error.code in (_CANCELLED, _LOCKED):
            return AuthError(
                ErrorCode.HOOK_TIMEOUT,
                f"Failed to reach hook within maximum time of {self.timeout_s:g} seconds",
            )
        refusal = error_from_database(error)
        return refusal if isinstance(refusal, ProjectSqlError) else HookFunctionFailed(error.code)
