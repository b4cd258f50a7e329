"""[realtime]: row changes, broadcast and presence over sockets (docs/reference/realtime.md).

The keys of the official `config.toml` are read unchanged; the others are ours.
"""

from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Bytes, Duration, Rate, Seconds, Size

MIB = 1024 * 1024


class RealtimeSettings(Struct, frozen=True):
    """[realtime]: row changes, broadcast and presence over sockets. Switched off, no replication slot is kept."""

    enabled: bool = True
    ip_version: str = "IPv4"
    """Accepted and not used."""
    max_header_length: int = 4096
    """Accepted and not used: `gateway.max_headers` applies."""
    slot_name: str = "headwater_changes"
    """Replication slot that retains row changes until they are published. Platforms on one database server need one each."""
    login: str = "supabase_replication_admin"
    """Login role with REPLICATION that reads the write-ahead log."""
    login_password: Secret | None = None
    """Its password. Unset: random on the embedded server; on an external one `db.password`, with a warning."""
    retention: Duration = Duration(900)
    """How long published changes are kept for clients that resume."""
    retention_size: Size = Size(256 * MIB)
    """Bytes of published changes that are kept, 16MiB or more; the oldest are dropped first."""
    replay_window: Duration = Duration(0)
    """For how long after a disconnect a client that joins the same channel again without `resume` first gets the changes it missed, at
    least once; 0: never. At most `realtime.retention` applies.
    """
    private_only: bool = False
    """Only private channels can be joined."""
    presence_enabled: bool = False
    """Presence is on in channels that do not set it."""
    max_concurrent_users: Amount = 20_000
    """Sockets and streams of row changes of one edge process; 0: unlimited, as in all that follow."""
    max_sockets_per_key: Amount = 0
    """Sockets of one edge process with one API key. Unlimited by default: all users of a project share its public key."""
    max_sockets_per_address: Amount = 1000
    """Sockets and streams of one edge process for one client address (see `gateway.trusted_proxies`)."""
    max_channels_per_client: Amount = 100
    """Channels of one socket."""
    max_changes_per_join: Amount = 100
    """Entries of `postgres_changes` in one join."""
    max_changes_per_client: Amount = 1000
    """Entries of `postgres_changes` in all channels of one socket."""
    max_joins_per_client: Rate = 20.0
    """Joins a second of one socket, on average over 10 seconds; beyond, the socket is closed."""
    max_joins_per_second: Rate = 1000.0
    """Joins a second of one edge process, on average over 10 seconds; beyond, the socket that sends one is closed."""
    max_events_per_second: Rate = 100.0
    """Messages a second of one socket, on average over 10 seconds; beyond, the channel is closed."""
    max_bytes_per_second: Rate = 2_000_000.0
    """Bytes of messages a second of one socket, on average over 10 seconds; beyond, the channel is closed."""
    max_broadcasts_per_second: Rate = 1000.0
    """Messages a second that one API key may send over HTTP to one edge process, on average over 10 seconds; beyond: 429."""
    max_presence_events_per_second: Rate = 50_000.0
    """Presence differences that one edge process delivers, on average over 10 seconds; beyond, clients that track are stopped."""
    max_presence_calls_per_second: Rate = 5.0
    """Calls of presence by one channel of a socket, on average over 30 seconds."""
    max_presence_payload: Bytes = 64 * 1024
    """Bytes of the state that one channel tracks."""
    max_presence_members: Amount = 10_000
    """Presences of one channel in all edges together; beyond, a client that tracks is stopped."""
    max_presence_size: Size = Size(4 * MIB)
    """Bytes of all presences of one channel, which each joining member gets; beyond, a client that tracks is stopped."""
    max_payload: Bytes = 3_000_000
    """Bytes of a broadcast, 8,000,000 at most."""
    max_frame: Bytes = 5_000_000
    """Bytes of a frame from a client."""
    max_unsent: Bytes = 8 * MIB
    """Bytes that may wait for one socket; a client that reads more slowly is disconnected."""
    idle_timeout: Seconds = 60.0
    """After how long without a frame of its client a socket is closed."""
    deletes_under_rls: bool = False
    """Under row security, send a deletion only to subscribers for whom the policy shows the old row (with replica identity full). Off: all
    subscribers get its key.
    """
