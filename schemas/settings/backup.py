"""[backup]: continuous backup, from which the database is brought back to any moment (docs/backups.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.storage import MIB, S3, Azure, Gcs
from schemas.settings.types import Duration, Seconds, Size


class Backup(Struct, frozen=True):
    """[backup]: continuous backup to a folder or an object store. Its secrets reach the process `archive` alone."""

    continuous: bool = False
    """Store base backups and the write-ahead log as it is written, so that `headwater restore --to` brings back any moment."""
    key: Secret | None = None
    """Encrypts everything that is stored: 32 random bytes in base64, as `headwater keys --backup` makes them. Without it nothing can be
    restored: keep it apart from this machine.
    """
    old_keys: Secret | None = None
    """Earlier keys, comma separated: they decrypt what was stored before `key` was changed."""
    backend: str = "file"
    """Where it is stored: file (a folder), s3, gcs or azure."""
    path: str = ""
    """Folder of the backend `file`, an absolute path. A folder on another disk survives the loss of this one."""
    interval: Seconds = 5.0
    """Longest time that the log is collected before it is stored. What a lost machine loses is this and the time of storing, at most 10
    seconds as long as the store takes less than 5.
    """
    base_interval: Duration = Duration(86400)
    """Time between two base backups. A restore reads one of them and the log since."""
    incrementals: int = 6
    """Base backups behind a full one that have only what changed since the one before; 0 makes all of them full. A restore reads a full one and
    up to so many. They need Postgres 17 or later with `summarize_wal` on, which the embedded database has.
    """
    retention: Duration = Duration(7 * 86400)
    """How far back a restore can go. What only older moments need is deleted after each base backup."""
    wal_limit: Size = Size(1024 * MIB)
    """Bytes of the log that the embedded database keeps on its disk while the store cannot be reached. Beyond, the log is given up, the moments
    of that time cannot be restored, and a new base backup is made when the store is back. An outside database: `max_slot_wal_keep_size`.
    """
    objects: bool = True
    """Copy the bytes of objects of [storage], each version once."""
    drill: str = ""
    """When the restore drill runs by itself: daily, weekly, monthly (at 4 o'clock GMT) or a cron schedule; empty: only by `headwater backup
    --drill`. It restores the newest state beside the platform, checks it, and removes it: it needs room on the disk for the database.
    """
    drill_webhook: Secret | None = None
    """Address (`http` or `https`) that gets the result of each drill: `restore_drill.failed` or `restore_drill.passed`, as JSON."""
    drill_webhook_secret: Secret | None = None
    """Key that signs it by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Unset: without a signature."""
    s3: S3 = field(default_factory=S3)
    gcs: Gcs = field(default_factory=Gcs)
    azure: Azure = field(default_factory=Azure)
