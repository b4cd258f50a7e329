"""[scheduler] and [net]: scheduled jobs and functions, HTTP requests from SQL (docs/schedules-and-queues.md)."""

from msgspec import Struct, field

from schemas.settings.types import Count, Duration, Size

MIB = 1024 * 1024


class Scheduler(Struct, frozen=True):
    """[scheduler]: jobs of pg_cron, and functions with a `schedule`."""

    enabled: bool = True
    """Off: nothing runs on a schedule, and requests from SQL are not sent."""
    timezone: str = "GMT"
    """Time zone of the schedules of jobs."""
    max_running_jobs: Count = 16
    """Jobs that run at a time, each in a connection of its own; further ones wait."""
    job_timeout: Duration = Duration(3600)
    """Longest run of a job; beyond, it is stopped and counts as failed. 0: unlimited."""
    keep_runs: Duration = Duration(30 * 86400)
    """How long finished runs stay in `cron.job_run_details`, and the log of webhooks. 0 keeps them."""


class Net(Struct, frozen=True):
    """[net]: HTTP requests from SQL (pg_net, database webhooks)."""

    allow: list[str] = field(default_factory=list)
    """Private addresses that may be reached: networks (`10.1.0.0/16`), hosts (`queue.internal`, `127.0.0.1:9000`). Public ones and the
    platform's own gateway need no entry. Servers of `postgres_fdw` follow it as of the last start.
    """
    gateway_url: str = ""
    """Address of the platform's gateway for the workers. Unset: its port on this machine."""
    concurrency: Count = 64
    """Requests in progress at a time."""
    max_answer: Size = Size(2 * MIB)
    """Longest response; a longer one is an error."""
    keep_answers: Duration = Duration(6 * 3600)
    """How long responses stay in `net._http_response`."""
