"""[log]: what the processes write, and the store in which it can be searched (docs/observability.md)."""

from msgspec import Struct, field

from schemas.settings.types import Amount, Duration, Ratio, Size


class LogStoreSettings(Struct, frozen=True):
    """[log.store]: the searchable store of log lines."""

    enabled: bool = True
    """Store the lines of all processes, so that they can be searched. The pool `management` of each machine keeps one."""
    max_age: Duration = Duration(7 * 24 * 3600)
    """Lines older than this are removed."""
    max_size: Size = Size(1024**3)
    """Largest size of the store on disk; the oldest lines are removed first."""
    least_free: Size = Size(512 * 1024**2)
    """Free space that the store leaves on its disk: below it the oldest lines are removed, and then nothing more is stored."""
    queue_size: Size = Size(128 * 1024**2)
    """Largest size of the stream that holds lines until every machine has stored them; the oldest are removed first."""
    requests_per_second: Amount = 20
    """How many successful, quick requests a second leave lines at each gateway process; of further ones a fraction does, `requests`."""
    requests: Ratio = 0.02
    """Fraction of the further successful, quick requests that leave lines. Those with status 400 and more, and slow ones, always do."""
    slow_request: Duration = Duration(1)
    """A request that takes this long counts as slow."""
    slow_statement: Duration = Duration(1)
    """A transaction that takes this long leaves a line with the text of its statements (without values) and the request id."""


class Log(Struct, frozen=True):
    """[log]."""

    level: str = "info"
    format: str = "auto"
    """json, console, or auto: console on a terminal."""
    store: LogStoreSettings = field(default_factory=LogStoreSettings)
