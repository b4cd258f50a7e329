"""The context of code that sends messages or calls the project's hooks (`model/context.py` lists the contexts)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from workers.auth.delivery.email.outbox import MailOutbox
from workers.auth.delivery.hooks.runner import HookRunner
from workers.auth.model.context import AuthContext
from workers.database.transactions.interactive import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryContext(AuthContext):
    """An `AuthContext` that can also send emails and text messages, and call hooks."""

    outbox: MailOutbox
    hooks: HookRunner

    @asynccontextmanager
    async def sending(self, address: str) -> AsyncIterator[Transaction]:
        """Open a transaction whose last step sends a message to an address, and which is rolled back if that fails.

        Wait for one of the outbox's slots first.
        """
        async with self.outbox.slots.of(address), self.transaction() as transaction:
            yield transaction
