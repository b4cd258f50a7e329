"""[management]: the interface of administrators (docs/management.md)."""

from msgspec import Struct, field

from schemas.settings.types import Amount, Count, Duration


class Management(Struct, frozen=True):
    """[management]: administrators, their sessions and tokens, and what they may do."""

    enabled: bool = True
    """Serve `/management/v1`, and `/v1` and `/v2` for the official command line. Administrators are stored in the database either way."""
    session_idle_timeout: Duration = Duration(12 * 3600)
    """A session of an administrator ends after this time without a request."""
    first_link_lifetime: Duration = Duration(15 * 60)
    """How long the one-time link of a first start, or of `headwater admin reset`, can be used."""
    audit_retention: Duration = Duration(365 * 24 * 3600)
    """How long audit rows are stored; 0: for ever."""
    statement_timeout: Duration = Duration(60)
    """Longest time of one operation on the database, and the default of SQL that an administrator runs."""
    max_rows: Count = 1000
    """Most rows in one page of an answer."""
    backup_folder: str = ""
    """Folder of the backups that the interface makes and lists. Unset: `backups` in the data folder."""
    backup_schedule: str = ""
    """When the platform makes a backup by itself: five fields of cron, in GMT. Empty: never."""
    backups_kept: Amount = 7
    """Whole backups that are left in that folder after one of the schedule; older ones are deleted. 0: all."""
    project_ref: str = ""
    """The ref by which the official command line names this project: 20 lower-case letters. Empty: made from the identity of the database cluster."""
    mcp_origins: list[str] = field(default_factory=list)
    """Origins of pages, as in `https://agent.example.com`, that may call `/mcp` with a token from a browser. Programs outside of browsers send none."""
    database_address: str = ""
    """Host and port under which the official command line reaches Postgres, as in `db.example.org:5432`. Empty: the host of the request, and
    the port of the database.
    """
