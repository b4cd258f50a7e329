"""Replay protection: a signed message works once. Used ones are stored for as long as they would be valid.

`workers/auth/cleanup.py` deletes them afterwards.
Source: docs/reference/auth.md, sections 14 and 24.
"""

import hashlib
from datetime import datetime

from workers.auth.federation.wallets.message import WalletMessage
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.wallets", "nonces.sql")


async def use_message(
    transaction: Transaction, chain: str, message: WalletMessage, text: str, until: datetime, now: datetime
) -> bool:
    """Record the use of a message. Return whether it was not used before.

    A concurrent request with the same message waits for this transaction (the row's unique key). Raises: DatabaseError, Disconnected.
    """
    return bool(
        await transaction.rows(
            _SQL["use_message"], hash_of(chain, message, text), until.isoformat(), now.isoformat()
        )
    )


def hash_of(chain: str, message: WalletMessage, text: str) -> str:
    """Return the hash that is stored: of the nonce, or of the whole text if the wallet sets no nonce."""
    once = f"nonce {message.nonce}" if message.nonce else f"text {text}"
    return hashlib.sha256(f"{chain} {message.address.lower()} {once}".encode()).hexdigest()
