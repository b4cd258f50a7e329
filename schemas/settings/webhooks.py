"""[webhooks]: events sent to other services, at least once (docs/webhooks.md)."""

from msgspec import Struct

from schemas.settings.types import Amount, Count, Duration


class WebhookSettings(Struct, frozen=True):
    """[webhooks]: events sent to other services, at least once. Which addresses may be reached says `net.allow`."""

    enabled: bool = True
    timeout: Duration = Duration(15)
    """How long a receiver may take to answer."""
    retry_for: Duration = Duration(3 * 86400)
    """How long a delivery is repeated, with growing pauses; then it is set aside and can be sent again by hand."""
    pause_after: Duration = Duration(5 * 86400)
    """A webhook of which nothing has succeeded for so long is paused. 0: never."""
    keep: Duration = Duration(7 * 86400)
    """How long deliveries that have ended are kept; so far back a replay reaches."""
    concurrency: Count = 16
    """Requests to one receiver at a time."""
    max_waiting: Amount = 100_000
    """Deliveries of one webhook that may wait; beyond, its further events are not stored, and the webhook says so. 0: unlimited."""
