"""Which transactions a snapshot sees. Pure. Source: PostgreSQL, "Transaction ID and Snapshot Information Functions"."""

from dataclasses import dataclass

_HALF = 1 << 31


@dataclass(frozen=True, slots=True)
class TransactionSnapshot:
    """The visible transactions: those below `end` that are not `running`. Numbers have 64 bits."""

    end: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> "TransactionSnapshot":
        """Parse Postgres' form `xmin:xmax:xip,...`."""
        _, end, running = text.split(":")
        return cls(int(end), frozenset(map(int, running.split(","))) if running else frozenset())

    def can_see(self, xid: int) -> bool:
        """Return whether a transaction is visible. `xid` has 32 bits, as in the log, and differs from `end` by less than half
        of their range.
        """
        full = self.end - ((self.end - xid) & 0xFFFFFFFF)
        if self.end - full >= _HALF:
            full += 1 << 32
        return full < self.end and full not in self.running
