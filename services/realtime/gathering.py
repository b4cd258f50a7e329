"""The presence of one room as this process sees it: who is there, who watches, and what is to be told next.

What happens within a moment is told at once: a thousand who come together make a few messages, not a million.
"""

from typing import Protocol

from services.realtime import frames
from services.realtime.frames import Vsn
from services.realtime.presence import Diff, Entry, Presences
from services.realtime.rooms import PREFIX

MOMENT_S = 0.01
"""For how long differences are gathered before they are told."""


class Participant(Protocol):
    """A channel that takes part in the presence of its room."""

    vsn: Vsn

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    def show(self, state: bytes) -> None:
        """Send the state of presence; differences follow."""
        ...


class Gathering:
    """The presence of one room."""

    def __init__(self, topic: str, *, is_private: bool) -> None:
        self.topic = topic
        self.is_private = is_private
        self.presences = Presences()
        self.participants: dict[Participant, Entry | None] = {}
        """All channels here that take part, with what they show of themselves."""
        self._viewers: set[Participant] = set()
        self._untold = Diff()

    def view(self, viewer: Participant) -> None:
        """Let a participant see the state now, and every difference from now on."""
        self.tell()
        if viewer in self.participants:
            self._viewers.add(viewer)
            viewer.show(self.presences.state())

    def leave(self, participant: Participant) -> None:
        """Forget a participant; what it showed was taken away before."""
        self.participants.pop(participant, None)
        self._viewers.discard(participant)

    def blind(self, participant: Participant) -> None:
        """Let a participant see nothing more."""
        self._viewers.discard(participant)

    def note(self, diff: Diff) -> bool:
        """Take in what changed; tell whether there is anything to be told now."""
        self._untold.add(diff)
        return bool(self._untold)

    def tell(self) -> int:
        """Tell the viewers what changed since they were told last; give how many were told."""
        diff, self._untold = self._untold, Diff()
        viewers = tuple(self._viewers)  # who is too slow leaves at once
        if not diff or not viewers:
            return 0
        payload = diff.payload()
        made: dict[Vsn, bytes] = {}
        for viewer in viewers:
            frame = made.get(viewer.vsn)
            if frame is None:
                topic = PREFIX + self.topic
                frame = made[viewer.vsn] = frames.fanout(viewer.vsn, topic, "presence_diff", payload)
            viewer.write(frame)
        return len(viewers)
