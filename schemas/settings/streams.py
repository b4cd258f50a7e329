"""[streams.<name>]: rows of tables and their changes, copied to other systems (docs/streams.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Duration, Size

MODES = ("merge", "append")


class StreamSettings(Struct, frozen=True):
    """[streams.<name>]: some tables, and where their rows go. A stream carries all rows: policies do not apply to it."""

    enabled: bool = True
    tables: list[str] = []
    """Tables, as `orders` (of the schema public) or `sales.orders`; 1 to 100."""
    target: Secret | None = None
    """Where to: file:///folder or s3://bucket/prefix (Iceberg tables), nats: (messages, on a server that the platform runs) or nats://user:password@host:4222,
    kafka://[user:password@]host:9092 (kafkas:// with TLS), or postgresql://user:password@host:5432/database."""
    mode: str = "merge"
    """Of Iceberg tables. merge: a table has the rows as they are now, and needs a primary key. append: it has every change as a row."""
    filters: dict[str, list[str]] = field(default_factory=dict)
    """Of a table, conditions that a row must pass, as `status=eq.paid`."""
    columns: dict[str, list[str]] = field(default_factory=dict)
    """Of a table, the columns that are copied; all without it."""
    without: dict[str, list[str]] = field(default_factory=dict)
    """Of a table, the columns that are left out, such as secret ones."""
    every: Duration = Duration(10)
    """How long changes are gathered before they are written, 0 to an hour; sooner, once there are 20,000 or 16 MiB."""
    closed_network: bool = False
    """The target may stand at a private or loopback address. Without this such an address is refused."""
    access_key_id: Secret | None = None
    """Of S3."""
    secret_access_key: Secret | None = None
    """Of S3."""
    region: str = "us-east-1"
    """Of S3."""
    endpoint: str = ""
    """Of S3: the address of a store that is not Amazon's."""
    keep: Duration = Duration(7 * 86400)
    """Of NATS: how long messages are kept."""
    keep_size: Size = Size(1024**3)
    """Of NATS: bytes of messages of each table that are kept; the oldest go first."""
    sasl: str = "PLAIN"
    """Of Kafka, with a user: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""
    file_size: Size = Size(64 * 1024**2)
    """Of Iceberg tables: smaller files are merged up to this size."""
