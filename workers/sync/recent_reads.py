"""What the last messages of a shape included: transactions whose changes were read before it was their turn. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.bounded_cache import BoundedCache
from workers.database.transaction_snapshot import TransactionSnapshot

_MOST = 5000


@dataclass(frozen=True, slots=True)
class _LastRead:
    """What the last message of a key included, and the transactions that it named."""

    seen: TransactionSnapshot
    txids: frozenset[int]


class RecentReads:
    """The last message of each of the keys that changed last."""

    def __init__(self) -> None:
        self._last = BoundedCache[bytes, _LastRead](_MOST)

    def includes(self, key: bytes, txid: int) -> bool:
        """Return whether an earlier message of a key included a transaction that had not had its turn."""
        last = self._last.get(key)
        return last is not None and txid not in last.txids and last.seen.can_see(txid)

    def note(self, keys: Iterable[bytes], seen: TransactionSnapshot, txids: frozenset[int]) -> None:
        """Note messages of some keys: the snapshot in which their rows were read, and the transactions that they name."""
        for key in keys:
            self._last.put(key, _LastRead(seen, txids))
