"""[realtime]: row changes, rooms and presence over sockets (reference page "realtime").

The keys of the official `config.toml` are read unchanged; the others are ours.
"""

from msgspec import Struct

from schemas.secret import Secret
from schemas.setting_types import Amount, Bytes, Duration, Rate, Seconds, Size

MIB = 1024 * 1024


class Realtime(Struct, frozen=True):
    """[realtime]: row changes, rooms and presence over sockets. Switched off, no replication slot is kept."""

    enabled: bool = True
    ip_version: str = "IPv4"
    """Known, and not used."""
    max_header_length: int = 4096
    """Known, and not used: `gateway.max_headers` holds."""
    slot_name: str = "headwater_changes"
    """Replication slot that holds row changes until they are published. Platforms on one database server need one each."""
    login: str = "supabase_replication_admin"
    """Login role with REPLICATION that reads the write-ahead log."""
    login_password: Secret | None = None
    """Its password. Unset: a random one on the embedded server, on an outside one `db.password`, with a warning."""
    retention: Duration = Duration(900)
    """How long published changes are kept for clients that resume."""
    retention_size: Size = Size(256 * MIB)
    """Bytes of published changes that are kept; the oldest go first."""
    private_only: bool = False
    """Only private channels can be joined."""
    presence_enabled: bool = False
    """Presence is on in channels that do not say whether they want it."""
    max_concurrent_users: Amount = 0
    """Sockets of one edge process; 0 is no limit, as it is for all that follow."""
    max_sockets_per_key: Amount = 0
    """Sockets of one edge process that were opened with one API key."""
    max_channels_per_client: Amount = 1000
    """Channels of one socket."""
    max_joins_per_second: Rate = 0.0
    """Joins of one edge process."""
    max_events_per_second: Rate = 0.0
    """Messages that one socket, or over HTTP one API key, may send, on average over 10 seconds."""
    max_presence_events_per_second: Rate = 0.0
    """Differences of presence that one edge process delivers, on average over 10 seconds; who then still tracks is stopped."""
    max_presence_calls_per_second: Rate = 0.0
    """Calls of presence by one channel of a socket, on average over 30 seconds."""
    max_payload: Bytes = 3_000_000
    """Bytes of a broadcast."""
    max_frame: Bytes = 5_000_000
    """Bytes of a frame that a client sends."""
    max_unsent: Bytes = 8 * MIB
    """Bytes that may wait for one socket; a client that reads more slowly is disconnected."""
    idle_timeout: Seconds = 60.0
    """After how long without a frame of its client a socket is closed."""
    deletes_under_rls: bool = False
    """Under row security tell a deletion only to whom the rule shows the old row (with replica identity full); else all
    subscribers are told its key."""
