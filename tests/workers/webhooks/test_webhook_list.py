"""The list of webhooks while one of them is deleted: the term of the leader goes on."""

import msgspec

from schemas.settings.auth import Auth
from schemas.webhooks import target_sealer
from workers.webhooks.statements import SQL
from workers.webhooks.webhook_list import StoredWebhook, WebhookList

ROW = StoredWebhook("1", "orders", "storage", [], [], "", False, False, False, True, False, 0, 0, [])


class DeletingLeadership:
    """Answers as a database from which the webhook is deleted while it is paused."""

    def __init__(self) -> None:
        self.rows = [{"row": msgspec.json.encode(ROW).decode()}]
        self.webhooks: WebhookList | None = None

    async def ask(self, statement: str, *_: object) -> list[dict[str, str]]:
        if statement == SQL["pause"]:
            assert self.webhooks is not None
            self.rows = []
            await self.webhooks.read()
            return []
        return self.rows


async def test_a_webhook_that_is_deleted_while_it_is_paused_ends_nothing() -> None:
    leadership = DeletingLeadership()
    webhooks = leadership.webhooks = WebhookList(leadership, target_sealer(Auth()))  # type: ignore[arg-type]  # as much of the session as it uses
    await webhooks.read()

    await webhooks.pause(ROW.id, "its receiver is gone")
    await webhooks.pause(ROW.id, "its receiver is gone")

    assert webhooks.stored == {}
