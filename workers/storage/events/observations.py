"""Observations of event delivery: types, counts and reasons, never the name of an object or of a webhook."""

from typing import ClassVar

from broker.observability.observations import Observation


class StorageEventPublished(Observation, frozen=True):
    """An event of storage was published to NATS."""

    level: ClassVar[str] = "debug"
    type: str


class StorageEventDropped(Observation, frozen=True):
    """An event of storage cannot be published and was dropped."""

    level: ClassVar[str] = "error"
    type: str
    sequence: int
    reason: str


class StorageEventsDelayed(Observation, frozen=True):
    """Events of storage cannot be published now; they wait in the database."""

    level: ClassVar[str] = "warning"
    reason: str


class StorageEventsCrashed(Observation, frozen=True):
    """A defect stopped the delivery of storage's events; it begins again after a pause."""

    level: ClassVar[str] = "error"
    traceback: str


class WebhookSent(Observation, frozen=True):
    """An event of storage was posted to the webhook."""

    level: ClassVar[str] = "debug"
    type: str


class WebhookFailed(Observation, frozen=True):
    """A post to the webhook failed; it is repeated."""

    level: ClassVar[str] = "debug"
    type: str
    reason: str


class WebhookLost(Observation, frozen=True):
    """The webhook rejects events; they are posted again until it accepts them, or until they are too old."""

    level: ClassVar[str] = "warning"
    reason: str


class WebhookBack(Observation, frozen=True):
    """The webhook accepts events again."""

    after_s: float


class WebhookDropped(Observation, frozen=True):
    """The webhook did not accept an event in time; it is not posted any more."""

    level: ClassVar[str] = "error"
    id: str
    type: str
    tries: int
    reason: str
