"""The parts of the edge that all channels of this process share."""

from collections.abc import Callable
from dataclasses import dataclass

from services.realtime.changes.interface import Feed
from services.realtime.channels.client_positions import EdgePositions
from services.realtime.channels.pool_queries import ChannelQueries
from services.realtime.limits import LongWorkLock, RejectionDelay
from services.realtime.tokens import Tokens
from services.realtime.topics.hub import TopicHub
from services.realtime.topics.tracker import PresenceTracker


@dataclass(slots=True)
class ChannelServices:
    """The shared parts. `feed` returns None while row changes are not delivered here."""

    hub: TopicHub
    tracker: PresenceTracker
    tokens: Tokens
    queries: ChannelQueries
    rejection_delay: RejectionDelay
    long_work: LongWorkLock
    feed: Callable[[], Feed | None]
    positions: EdgePositions
