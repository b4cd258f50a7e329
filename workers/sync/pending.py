"""Changes that a shape has still to apply, by the keys of their rows. Pure."""

from dataclasses import dataclass, field

import msgspec

_MOST_PENDING = 100_000
"""Keys, each counted once for each transaction that changed it, beyond which all rows are read again."""
_MOST_TXIDS = 10_000
"""Transactions that are named: the last ones. A client that waits for an earlier one has been waiting since the database stalled."""
KeyValues = tuple[str, ...]
"""The texts of a key, in the order of its columns."""


@dataclass(slots=True)
class PendingChange:
    """What transactions did that are applied together. `renamed`: new key -> old key."""

    lsn: int
    txids: dict[int, None] = field(default_factory=dict)
    keys: dict[KeyValues, dict[int, None]] = field(default_factory=dict)
    renamed: dict[KeyValues, KeyValues] = field(default_factory=dict)
    compares: bool = False
    """All keys must be compared: a table that policies read changed, or a key cannot be read."""
    reads_all: bool = False
    """So many rows changed that all are read again."""
    _pairs: int = 0
    """How many transactions all keys have."""

    def merge(self, other: "PendingChange") -> None:
        """Add what came later."""
        self.lsn = max(self.lsn, other.lsn)
        for txid in other.txids:
            self.add_txid(txid)
        for key, txids in other.keys.items():
            for txid in txids:
                self.add_key(key, txid)
        self.renamed |= other.renamed
        self.compares |= other.compares
        self.reads_all |= other.reads_all

    def add_key(self, key: KeyValues, txid: int) -> None:
        """Note a row that may have changed."""
        txids = self.keys.setdefault(key, {})
        self._pairs += txid not in txids
        txids[txid] = None
        if self._pairs > _MOST_PENDING:
            self.keys.clear()
            self.renamed.clear()
            self._pairs = 0
            self.reads_all = True

    def add_txid(self, txid: int) -> None:
        """Note a transaction."""
        self.txids[txid] = None
        if len(self.txids) > _MOST_TXIDS:
            del self.txids[next(iter(self.txids))]


def key_values(key: bytes, relation: str) -> KeyValues:
    """Return the texts of a key from its JSON text. `/` is doubled inside of a value, so that `"/"` only separates."""
    text = msgspec.json.decode(key, type=str)
    prefix = len(relation) + 2
    return tuple(value.replace("//", "/") for value in text[prefix:-1].split('"/"'))
