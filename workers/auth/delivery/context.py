"""The context of code that sends messages or calls the project's hooks (`model/context.py` lists the contexts)."""

from dataclasses import dataclass

from workers.auth.delivery.email.outbox import MailOutbox
from workers.auth.delivery.hooks.runner import HookRunner
from workers.auth.model.context import AuthContext


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryContext(AuthContext):
    """An `AuthContext` that can also send emails and text messages, and call hooks."""

    outbox: MailOutbox
    hooks: HookRunner
