"""Observations of webhooks: names of webhooks, counts and reasons, never an address, a body or a secret."""

from typing import ClassVar

from broker.observability.observations import Observation


class WebhooksLost(Observation, frozen=True):
    """The leader lost the database, the broker or its lead; it retries, and nothing is lost."""

    level: ClassVar[str] = "warning"
    reason: str


class WebhooksCrashed(Observation, frozen=True):
    """Sending events failed because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class WebhookDelivered(Observation, frozen=True):
    """A receiver took an event."""

    level: ClassVar[str] = "debug"
    webhook: str
    seconds: float


class RequestReachedWebhook(Observation, frozen=True):
    """A change that a request made was sent to a webhook."""

    level: ClassVar[str] = "debug"
    is_stored: ClassVar[bool] = True
    request_id: str
    webhook: str
    event: str
    answer: str
    ms: float


class WebhookAttemptFailed(Observation, frozen=True):
    """A receiver did not take an event; it is sent again later."""

    level: ClassVar[str] = "debug"
    webhook: str
    reason: str


class WebhookFailing(Observation, frozen=True):
    """Nothing is taken by a receiver any more; events wait and are sent again."""

    level: ClassVar[str] = "warning"
    webhook: str
    reason: str


class WebhookRecovered(Observation, frozen=True):
    """A receiver takes events again."""

    webhook: str


class WebhookGaveUp(Observation, frozen=True):
    """An event was sent for as long as `webhooks.retry_for` and never taken; it is set aside, and can be sent again by hand."""

    level: ClassVar[str] = "warning"
    webhook: str
    event: str
    reason: str


class WebhookPaused(Observation, frozen=True):
    """A webhook sends no more until it is resumed; its events are stored meanwhile."""

    level: ClassVar[str] = "error"
    webhook: str
    reason: str


class WebhookGap(Observation, frozen=True):
    """Events of these webhooks may be missing since the last one that was stored."""

    level: ClassVar[str] = "error"
    webhooks: str
    reason: str
