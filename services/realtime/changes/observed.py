"""What the feed observes. No row, claim or filter stands in an observation."""

from typing import ClassVar

from broker.observability.observations import Observation


class QuestionRepeated(Observation, frozen=True):
    """The realtime pool does not answer: row changes wait for it."""

    level: ClassVar[str] = "warning"
    question: str
    reason: str


class QuestionRefused(Observation, frozen=True):
    """The realtime pool refused a question about rows: nobody was shown them."""

    level: ClassVar[str] = "warning"
    question: str
    status: int


class FeedWaits(Observation, frozen=True):
    """The stream of changes cannot be read: row changes wait."""

    level: ClassVar[str] = "warning"
    reason: str


class ChangesMissed(Observation, frozen=True):
    """Row changes left the stream before they were read: subscribers were told."""

    level: ClassVar[str] = "warning"
    subscribers: int


class ChangeUnreadable(Observation, frozen=True):
    """A message in the stream of changes is no change: subscribers were told of a gap."""

    level: ClassVar[str] = "error"
    seq: int
    reason: str


class FeedFailed(Observation, frozen=True):
    """A part of the feed ended by a defect of ours; it begins anew."""

    level: ClassVar[str] = "error"
    traceback: str
