"""[sync]: shapes of tables for clients that keep a copy (docs/sync.md)."""

from msgspec import Struct

from schemas.settings.types import Amount, Count, Duration, Size

MIB = 1024 * 1024


class SyncSettings(Struct, frozen=True):
    """[sync]: shapes of tables under row level security for clients that keep a copy. They need [realtime]."""

    enabled: bool = True
    path: str = ""
    """Folder of the shapes. Empty: `sync` in the data folder; without one a temporary folder, so that a restart ends all shapes."""
    allow_delete: bool = False
    """A client may end its shape by DELETE."""
    chunk_size: Size = Size(4 * MIB)
    """Bytes after which the body of an answer ends; the client asks for the next."""
    poll_timeout: Duration = Duration(20)
    """How long a request waits for changes."""
    sse_timeout: Duration = Duration(60)
    """How long a stream of server-sent events stays open."""
    max_shapes: Count = 2000
    """Shapes of the platform; beyond, the one that was asked for longest ago ends."""
    max_shapes_per_caller: Count = 200
    """Shapes whose logs one caller may have made in the last hour."""
    max_size: Size = Size(8192 * MIB)
    """Bytes of all shapes on disk; beyond, the one that was asked for longest ago ends."""
    max_waiting: Amount = 20_000
    """Requests that wait for changes in one edge process; 0: unlimited."""
    max_waiting_per_caller: Amount = 500
    """Requests of one caller that wait for changes in one edge process; 0: unlimited."""
