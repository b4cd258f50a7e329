"""[logs.drain.<name>]: log lines sent to other systems (docs/drains.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Count, Duration

DRAIN_FORMATS = ("otlp", "json", "loki", "syslog")


class LogDrain(Struct, frozen=True):
    """[logs.drain.<name>]: one receiver of log lines. It may stand in a closed network: whoever writes the settings names it."""

    enabled: bool = True
    format: str = "json"
    """otlp (OTLP over HTTP), json (JSON lines over HTTP), loki (its push form), or syslog (RFC 5424)."""
    url: Secret | None = None
    """http(s)://host:port/path; of syslog udp://host:514, tcp://host:514 or tls://host:6514."""
    headers: dict[str, Secret] = field(default_factory=dict)
    """Headers of the requests, such as `Authorization`."""
    labels: dict[str, str] = field(default_factory=dict)
    """Attributes of every line: resource attributes of OTLP, labels of Loki, members of JSON lines, structured data of syslog."""
    level: str = "info"
    """Lines below it are not sent: debug, info, warning or error."""
    functions: bool = True
    """What functions print is sent, too."""
    batch: Count = 1000
    """Lines of one request, at most 10,000."""
    gather: Duration = Duration(1)
    """How long lines are gathered before they are sent."""
    timeout: Duration = Duration(15)
    """How long the receiver may take to answer."""


class Logs(Struct, frozen=True):
    """[logs]: where log lines go besides the store of the platform."""

    drain: dict[str, LogDrain] = field(default_factory=dict)
    """Receivers by name: `[logs.drain.<name>]`."""
