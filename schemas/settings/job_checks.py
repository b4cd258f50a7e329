"""Checks of `[functions.<name>.job]` (pure)."""

from collections.abc import Mapping

from schemas.settings.functions import FunctionJob, FunctionSettings
from schemas.settings.types import Duration

MOST_RUNS, MOST_RETRIES, MOST_EVENTS = 500, 1000, 20
LONGEST_BACKOFF_S = 3600.0
_LONGEST_EVENT = 200
_UNSET = FunctionJob()


def job_fault(job: FunctionJob) -> str | None:
    """Return why a function cannot be this job, beginning with the key at fault, or None."""
    if not job.enabled:
        return None if job == _UNSET else "enabled is not set: `enabled = true` makes the function a job"
    if job.concurrency > MOST_RUNS:
        return f"concurrency must be {MOST_RUNS} at most"
    if job.retries > MOST_RETRIES:
        return f"retries must be {MOST_RETRIES} at most"
    if len(job.events) > MOST_EVENTS or not all(
        0 < len(name.encode()) <= _LONGEST_EVENT for name in job.events
    ):
        return f"events must be at most {MOST_EVENTS} names of 1 to {_LONGEST_EVENT} bytes"
    try:
        seconds = Duration(job.backoff)
    except ValueError:
        return f"backoff must be {Duration.FORM}, in quotes"
    if not 0.0 <= seconds <= LONGEST_BACKOFF_S:
        return f"backoff must be {Duration(0.0)} to {Duration(LONGEST_BACKOFF_S)}"
    return None


def jobs_fault(functions: Mapping[str, FunctionSettings]) -> str | None:
    """Return why a function cannot be the job of its settings, with the key in braces, or None."""
    for name, function in functions.items():
        if fault := job_fault(function.job):
            return f"{{functions.{name}.job}}: {fault}"
        if function.job.enabled and function.queue.queue:
            return f"{{functions.{name}.job}}: a function that consumes a queue is no job"
    return None
