"""[api.live]: reads of REST as streams of events (docs/live-reads.md)."""

from msgspec import Struct

from schemas.settings.types import Amount, Size


class Live(Struct, frozen=True):
    """[api.live]: reads of REST as streams of events (docs/live-reads.md). They need [realtime]; how soon and how many run at a time: `graphql.subscriptions`."""

    enabled: bool = True
    """Answer `Accept: text/event-stream` on reads; switched off, it is answered 501."""
    max_streams: Amount = 20_000
    """Live reads of one edge process; 0: unlimited."""
    max_streams_per_address: Amount = 1000
    """Live reads of one edge process for one client address (see `gateway.trusted_proxies`); 0: unlimited."""
    max_answer: Size = Size(8 * 1024 * 1024)
    """Bytes of a result; a longer one is refused with 400."""
