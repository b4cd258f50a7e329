"""Each signed message works once: what was used is remembered for as long as it would be valid.

What is over is forgotten by `workers/auth/cleanup.py`.
Source: reference page "auth", sections 14 and 24.
"""

import hashlib
from datetime import datetime

from workers.auth.federation.wallets.message import Message
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.wallets", "nonces.sql")


async def use(
    transaction: Transaction, chain: str, message: Message, text: str, until: datetime, now: datetime
) -> bool:
    """Note that a message is used; tell whether it was not used before.

    Another request with the same message waits for this transaction. Raises: DatabaseError, Disconnected.
    """
    return bool(
        await transaction.rows(_SQL["use"], hash_of(chain, message, text), until.isoformat(), now.isoformat())
    )


def hash_of(chain: str, message: Message, text: str) -> str:
    """Give what is remembered of a message: of its nonce, or of all of it where its wallet sets none."""
    once = f"nonce {message.nonce}" if message.nonce else f"text {text}"
    return hashlib.sha256(f"{chain} {message.address.lower()} {once}".encode()).hexdigest()
