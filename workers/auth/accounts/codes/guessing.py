"""Slows down password guessing: after some wrong passwords in a row each further attempt has to wait longer.

Wrong passwords are counted in the database, so that all workers count together, under two names:

    the account at one network            10 attempts are free, then waits of 1 to 60 seconds; forgotten after 15 minutes
    the account at all unknown networks   100 attempts are free, then the same waits; forgotten after a day

The first counter stops one client from guessing and does not affect other clients. The second bounds what many clients guess
together: 100 attempts, then 1,440 a day. It does not apply to networks from which the user has signed in recently
(`networks.py`), so an attacker cannot lock the owner out at their usual places: at a known network only its own counter counts.

A correct password resets the counter of its own network only, so an attacker gains nothing from the owner's sign-ins. The
names are keyed hashes of the typed address: unregistered addresses are counted like all others, and the table does not
reveal who signs in.

While a wait lasts, passwords are not checked. The counters are read twice: before the hash, to save the work, and again after
it, because many concurrent attempts may have passed the first check. Source: docs/reference/auth.md, section 21.
"""

import hmac
from dataclasses import dataclass

from workers.auth.accounts.codes import networks
from workers.auth.accounts.codes.networks import network_of
from workers.auth.model import rejections
from workers.auth.model.errors import INVALID_TEXT
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

FREE = 10
"""Wrong passwords in a row without a wait: more than users mistype, too few for a list of common passwords."""
FREE_OF_ALL = 100
"""The same for all unknown networks together."""
WAITS_S = (1, 2, 4, 8, 16, 32, 60)
"""Waits after the last free attempt, the next, and so on. 60 seconds allow 1,440 attempts a day."""
WINDOW_S = 15 * 60
"""Seconds without a wrong password after which the counter of a network is forgotten."""
WINDOW_OF_ALL_S = 24 * 3600
"""The same for all unknown networks together."""


_SQL = read_statements("workers.auth.accounts.codes", "guessing.sql")


@dataclass(frozen=True, slots=True)
class PasswordAttempt:
    """An attempt: the names under which it is counted, and the hash by which its network may be known."""

    account: str
    """Counter of all unknown networks; empty if the client's network cannot be determined."""
    pair: str
    """Counter of this network."""
    network: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the counters, the account's first."""
        return (self.account, self.pair) if self.account else (self.pair,)

    @property
    def _arguments(self) -> tuple[str | int, ...]:
        waits = "{" + ",".join(map(str, WAITS_S)) + "}"
        budgets = (FREE_OF_ALL, FREE, WINDOW_OF_ALL_S, WINDOW_S)
        return self.account, self.pair, self.network, waits, *budgets, networks.LASTS_S

    @property
    def wait(self) -> Statement:
        """Return the statement whose rows `reject_while_waiting` reads."""
        return statement(_SQL["wait"], *self._arguments)

    @property
    def passing(self) -> Statement:
        """Return a statement that does what `succeeded` does, to run with others; it fails while a wait lasts.

        It must be the first statement, because `is_wait_error` recognises its error by the position.
        """
        return statement(_SQL["pass"], *self._arguments)

    async def reject_early(self, transaction: Transaction, *others: Statement) -> list[Rows]:
        """Raise while a wait lasts; return the rows of other statements that run in the same round trip.

        Raises: AuthError (429) with the seconds to wait.
        """
        waits, *rows = await transaction.run(self.wait, *others)
        reject_while_waiting(waits)
        return rows

    async def failed(self, transaction: Transaction) -> None:
        """Count a wrong password, unless a wait has begun since the first check. Raises: AuthError (429)."""
        counted = await transaction.rows(_SQL["count"], *self._arguments)
        if counted[0][0] != b"true":
            raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, await self._wait_s(transaction)))

    async def succeeded(self, transaction: Transaction) -> None:
        """Reset the network's counter after a correct password, unless a wait has begun since. Raises: AuthError (429)."""
        # Lock the counters before reading them: a concurrent failure must not slip in between.
        if not await transaction.rows(_SQL["lock"], self.account, self.pair):
            return
        await self.reject_early(transaction)
        await transaction.rows(_SQL["forget"], self.pair)

    async def _wait_s(self, transaction: Transaction) -> int:
        (rows,) = await transaction.run(self.wait)
        return int(rows[0][0] or 0)


def reject_while_waiting(waits: Rows) -> None:
    """Raise while a wait lasts, judged by the rows of `PasswordAttempt.wait`. Raises: AuthError (429) with the seconds to wait."""
    wait_s = int(waits[0][0] or 0) if waits else 0
    if wait_s > 0:
        raise rejections.OVER_REQUEST_RATE(retry_after_s=wait_s)


def is_wait_error(error: DatabaseError) -> bool:
    """Return whether `PasswordAttempt.passing`, run as first statement, failed because a wait lasts."""
    return error.statement_index == 0 and error.code == INVALID_TEXT and error.context is None


def password_attempt(key: bytes, *account: str, address: str, network: str = "") -> PasswordAttempt:
    """Return the attempt at an account, named by what was typed (kind, audience, address), from a client's address.

    Each kind of secret is counted separately: pass it as the first part. `network` is the hash by which the client's network may
    be known (`networks.network_hash`).
    """
    parts = b"".join(
        len(part := text.encode(errors="surrogatepass")).to_bytes(4, "big") + part for text in account
    )
    name = f"guess:{hmac.digest(key, b'guess' + parts, 'sha256').hex()[:40]}"
    client = network_of(address)
    return PasswordAttempt(name, f"{name}:{client}", network) if client else PasswordAttempt("", name)
