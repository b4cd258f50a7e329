"""Guessing of passwords and codes is slowed down: after some wrong ones in a row each further try has to wait longer.

Counted in the database, so that all workers count together: for the account, wherever the tries come from, and for the
account at one address. A right password clears both, but not the counts of other addresses, so that somebody who
guesses gains nothing from the owner's sign-ins. Accounts are named by a keyed hash of what was typed: addresses that
nobody has are counted as all others are, and nobody reads from the table who signs in.

While a wait lasts, no password is looked at. A try is looked at twice: before the hash, to spare the work, and after
it, so that many at once are not all free. Source: reference page "auth", section 21.
"""

import hmac
from dataclasses import dataclass

from workers.auth import refusals
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, statement
from workers.database.session import Rows, Statement
from workers.sql.files import read_statements

FREE = 10
"""Wrong passwords in a row without a wait: more than a person mistypes, no help to a list of common passwords."""
WAITS_S = (1, 2, 4, 8, 16, 32, 60)
"""Waits after the tenth, the eleventh, and so on. A minute leaves 1,440 tries a day, and keeps an owner out no longer
than that after somebody else's tries."""
WINDOW_S = 15 * 60
"""After this long without a wrong one, all are forgotten."""

_NO_NUMBER = "22P02"

_SQL = read_statements("workers.auth.codes", "guessing.sql")


@dataclass(frozen=True, slots=True)
class Guess:
    """A try: the names under which it is counted, the account's first."""

    names: tuple[str, ...]

    @property
    def _listed(self) -> str:
        """Give the names as an array of Postgres; none holds a sign that would need quoting."""
        return "{" + ",".join(f'"{name}"' for name in self.names) + "}"

    @property
    def _arguments(self) -> tuple[str | int, ...]:
        waits = "{" + ",".join(map(str, WAITS_S)) + "}"
        return self._listed, FREE, waits, WINDOW_S

    @property
    def wait(self) -> Statement:
        """Give the statement whose rows `heed` reads."""
        _, *times = self._arguments
        return statement(_SQL["wait"], self.names[0], *times, self.names[-1])

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
        if len(counted) < len(self.names):
            raise refusals.OVER_REQUEST_RATE(retry_after_s=max(1, await self._wait_s(transaction)))

    async def succeeded(self, transaction: Transaction) -> None:
        """Forget the wrong ones after a right one, unless a wait has begun meanwhile. Raises: AuthError (429)."""
        if not await transaction.rows(_SQL["lock"], self._listed):
            return
        await self.refuse_early(transaction)
        await transaction.rows(_SQL["forget"], self._listed)

    async def _wait_s(self, transaction: Transaction) -> int:
        (found,) = await transaction.run(self.wait)
        return int(found[0][0] or 0)


def heed(waits: Rows) -> None:
    """Raise while a wait lasts, by the rows of `Guess.wait`. Raises: AuthError (429) with the seconds."""
    wait_s = int(waits[0][0] or 0) if waits else 0
    if wait_s > 0:
        raise refusals.OVER_REQUEST_RATE(retry_after_s=wait_s)


def has_failed(error: DatabaseError) -> bool:
    """Tell whether `Guess.passing`, which went first, failed because a wait lasts."""
    return error.statement_index == 0 and error.code == _NO_NUMBER and error.context is None


def guess_at(key: bytes, *account: str, address: str) -> Guess:
    """Give the try at an account, named by what was typed (kind, audience, address), from a client's address.

    Each kind of secret counts for itself: give it as the first part.
    """
    told = b"".join(
        len(part := text.encode(errors="surrogatepass")).to_bytes(4, "big") + part for text in account
    )
    who = hmac.digest(key, b"guess" + told, "sha256").hex()[:40]
    name = f"guess:{who}"
    client = "".join(sign for sign in address if sign.isalnum() or sign in ".:")[:64]
    return Guess((name, f"{name}:{client}") if client else (name,))
