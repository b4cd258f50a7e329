"""[scheduler] and [net]: jobs and functions on a schedule, requests over HTTP from SQL (docs/schedules-and-queues.md)."""

from msgspec import Struct, field

from schemas.settings.types import Count, Duration, Size

MIB = 1024 * 1024


class Scheduler(Struct, frozen=True):
    """[scheduler]: what runs on a schedule: jobs of pg_cron, and functions with a `schedule`."""

    enabled: bool = True
    """Off: nothing runs on a schedule, and no request of SQL is sent."""
    timezone: str = "GMT"
    """Time zone of the schedules of jobs."""
    max_running_jobs: Count = 16
    """Jobs that run at a time, each in a connection of its own; further ones wait."""
    job_timeout: Duration = Duration(3600)
    """How long a run of a job may take; beyond, it is stopped and has failed. 0 is no limit."""
    keep_runs: Duration = Duration(30 * 86400)
    """How long finished runs stay in `cron.job_run_details`, and the log of webhooks. 0 keeps them."""


class Net(Struct, frozen=True):
    """[net]: requests over HTTP from SQL (pg_net, database webhooks)."""

    allow: list[str] = field(default_factory=list)
    """Private addresses that may be reached: networks (`10.1.0.0/16`), hosts (`queue.internal`, `127.0.0.1:9000`). Public
    ones need no entry, nor does the platform's own gateway."""
    gateway_url: str = ""
    """Where the workers reach the platform's gateway. Unset: its port on this machine."""
    concurrency: Count = 64
    """Requests that are underway at a time."""
    max_answer: Size = Size(2 * MIB)
    """Longest answer; a longer one is an error."""
    keep_answers: Duration = Duration(6 * 3600)
    """How long answers stay in `net._http_response`."""
