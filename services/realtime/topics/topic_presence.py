"""The presence of one topic as this process sees it: its channels, the ones that receive presence, and the pending difference.

Differences are collected for `MOMENT_S` and sent together: a thousand clients that join at the same time cause a few messages,
not a million.
"""

from typing import Protocol

from services.realtime.protocol import frames
from services.realtime.protocol.frames import TOPIC_PREFIX, Vsn
from services.realtime.topics.presence import Presence, PresenceDiff, PresenceSet

MOMENT_S = 0.01
"""Seconds for which differences are collected before they are sent."""


class Participant(Protocol):
    """A channel that takes part in the presence of its topic."""

    vsn: Vsn

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    def send_presence_state(self, state: bytes) -> None:
        """Send the state of presence; differences follow."""
        ...


class TopicPresence:
    """The presence of one topic."""

    def __init__(self, topic: str, *, is_private: bool) -> None:
        self.topic = topic
        self.is_private = is_private
        self.presences = PresenceSet()
        self.participants: dict[Participant, Presence | None] = {}
        """All channels here that take part, with what they track."""
        self._viewers: set[Participant] = set()
        self._pending = PresenceDiff()

    def add_viewer(self, viewer: Participant) -> None:
        """Send a participant the state now, and every difference from now on."""
        self.send_diff()
        if viewer in self.participants:
            self._viewers.add(viewer)
            viewer.send_presence_state(self.presences.state())

    def remove_viewer(self, participant: Participant) -> None:
        """Stop sending presence to a participant."""
        self._viewers.discard(participant)

    def leave(self, participant: Participant) -> None:
        """Remove a participant. Its presence was removed before."""
        self.participants.pop(participant, None)
        self._viewers.discard(participant)

    def add(self, diff: PresenceDiff) -> None:
        """Add a change to the pending difference."""
        self._pending.add(diff)

    def send_diff(self) -> int:
        """Send the viewers what changed since the last difference; return the number of viewers."""
        diff, self._pending = self._pending, PresenceDiff()
        viewers = tuple(self._viewers)  # a copy: a viewer that is too slow leaves during the loop
        if not diff or not viewers:
            return 0
        payload = diff.payload()
        by_version: dict[Vsn, bytes] = {}
        for viewer in viewers:
            frame = by_version.get(viewer.vsn)
            if frame is None:
                topic = TOPIC_PREFIX + self.topic
                frame = by_version[viewer.vsn] = frames.fanout(viewer.vsn, topic, "presence_diff", payload)
            viewer.write(frame)
        return len(viewers)
