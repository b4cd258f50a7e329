"""Guessing of passwords is slowed down: after some wrong ones in a row each further try has to wait longer.

Counted in the database, so that all workers count together, under two names:

    the account at one network            10 are free, then waits of 1 to 60 seconds; forgotten after 15 minutes
    the account at all unknown networks   100 are free, then the same waits; forgotten after a day

The first keeps one client from guessing, and no other client from signing in. The second bounds what many clients guess
together: 100 tries, then 1,440 a day. It does not count for networks from which the user has signed in lately
(`networks.py`), so nobody keeps the owner out of where he usually is: at a known network only its own wrong ones count.

A right password clears the count of its own network and no other, so that somebody who guesses gains nothing from the
owner's sign-ins. Accounts are named by a keyed hash of what was typed: addresses that nobody has are counted as all others
are, and nobody reads from the table who signs in.

While a wait lasts, no password is looked at. A try is looked at twice: before the hash, to spare the work, and after
it, so that many at once are not all free. Source: reference page "auth", section 21.
"""

import hmac
from dataclasses import dataclass

from workers.auth.accounts.codes import networks
from workers.auth.accounts.codes.networks import network_of
from workers.auth.model import rejections
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, statement
from workers.database.session import Rows, Statement
from workers.sql.files import read_statements

FREE = 10
"""Wrong passwords in a row without a wait: more than a person mistypes, no help to a list of common passwords."""
FREE_OF_ALL = 100
"""The same for all unknown networks together: more than people at several places mistype."""
WAITS_S = (1, 2, 4, 8, 16, 32, 60)
"""Waits after the last free one, the next, and so on. A minute leaves 1,440 tries a day."""
WINDOW_S = 15 * 60
"""After this long without a wrong one at a network, its count is forgotten."""
WINDOW_OF_ALL_S = 24 * 3600
"""The same for all unknown networks together."""

_NO_NUMBER = "22P02"

_SQL = read_statements("workers.auth.accounts.codes", "guessing.sql")


@dataclass(frozen=True, slots=True)
class Guess:
    """A try: the names under which it is counted, and the name under which its network may be known."""

    account: str
    """At all unknown networks; empty where nobody knows from where the try comes."""
    pair: str
    """At this one."""
    network: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Give the names that count, the account's first."""
        return (self.account, self.pair) if self.account else (self.pair,)

    @property
    def _arguments(self) -> tuple[str | int, ...]:
        waits = "{" + ",".join(map(str, WAITS_S)) + "}"
        budgets = (FREE_OF_ALL, FREE, WINDOW_OF_ALL_S, WINDOW_S)
        return self.account, self.pair, self.network, waits, *budgets, networks.LASTS_S

    @property
    def wait(self) -> Statement:
        """Give the statement whose rows `heed` reads."""
        return statement(_SQL["wait"], *self._arguments)

    @property
    def passing(self) -> Statement:
        """Give what `succeeded` does as a statement for others to go with; while a wait lasts it fails.

        It goes first, so that `has_failed` knows it by its place.
        """
        return statement(_SQL["pass"], *self._arguments)

    async def refuse_early(self, transaction: Transaction, *others: Statement) -> list[Rows]:
        """Raise while a wait lasts; give the rows of other statements that ride along.

        Raises: AuthError (429) with the seconds.
        """
        waits, *rows = await transaction.run(self.wait, *others)
        heed(waits)
        return rows

    async def failed(self, transaction: Transaction) -> None:
        """Count a wrong password, unless a wait has begun meanwhile. Raises: AuthError (429)."""
        counted = await transaction.rows(_SQL["count"], *self._arguments)
        if counted[0][0] != b"true":
            raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, await self._wait_s(transaction)))

    async def succeeded(self, transaction: Transaction) -> None:
        """Forget the wrong ones after a right one, unless a wait has begun meanwhile. Raises: AuthError (429)."""
        if not await transaction.rows(_SQL["lock"], self.account, self.pair):
            return
        await self.refuse_early(transaction)
        await transaction.rows(_SQL["forget"], self.pair)

    async def _wait_s(self, transaction: Transaction) -> int:
        (found,) = await transaction.run(self.wait)
        return int(found[0][0] or 0)


def heed(waits: Rows) -> None:
    """Raise while a wait lasts, by the rows of `Guess.wait`. Raises: AuthError (429) with the seconds."""
    wait_s = int(waits[0][0] or 0) if waits else 0
    if wait_s > 0:
        raise rejections.OVER_REQUEST_RATE(retry_after_s=wait_s)


def has_failed(error: DatabaseError) -> bool:
    """Tell whether `Guess.passing`, which went first, failed because a wait lasts."""
    return error.statement_index == 0 and error.code == _NO_NUMBER and error.context is None


def guess_at(key: bytes, *account: str, address: str, network: str = "") -> Guess:
    """Give the try at an account, named by what was typed (kind, audience, address), from a client's address.

    Each kind of secret counts for itself: give it as the first part. `network` is the name under which the client's
    network may be known (`networks.network_hash`).
    """
    told = b"".join(
        len(part := text.encode(errors="surrogatepass")).to_bytes(4, "big") + part for text in account
    )
    name = f"guess:{hmac.digest(key, b'guess' + told, 'sha256').hex()[:40]}"
    client = network_of(address)
    return Guess(name, f"{name}:{client}", network) if client else Guess("", name)
