"""[history]: versions of rows with their causes (docs/history.md)."""

from msgspec import Struct


class HistorySettings(Struct, frozen=True):
    """[history]: versions of the rows of tables whose comment asks for them. Needs `realtime.enabled`: the stream of changes."""

    enabled: bool = True
    """Write versions. While it is off the stream keeps changes for `realtime.retention`; what leaves it unread is a gap."""
