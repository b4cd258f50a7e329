"""Findings about durable jobs (pure)."""

from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "durable jobs"


class DurableJobFacts(Struct, frozen=True):
    """A job, and how many of its runs failed in the last day. `is_stranded`: runs wait for a job that is there no more."""

    name: str
    failed: int
    last_error: str
    is_stranded: bool


def durable_job_findings(jobs: Sequence[DurableJobFacts]) -> list[DoctorFinding]:
    """Return the findings; none if there are no jobs."""
    faults = []
    for job in jobs:
        if job.is_stranded:
            cure = f"Deploy the function again with [functions.{job.name}.job], or cancel the runs: `headwater jobs runs --job {job.name}`."
            faults.append(_warning(f"runs of {job.name} wait, and no function is this job any more", cure))
        if job.failed:
            cure = f"`headwater jobs runs --job {job.name} --status failed` shows them; `headwater jobs rerun` starts one again."
            faults.append(
                _warning(f"{job.failed} runs of {job.name} failed in the last day: {job.last_error}", cure)
            )
    if faults or not jobs:
        return faults
    return [DoctorFinding(_TITLE, FindingLevel.OK, f"{len(jobs)} jobs")]


def _warning(text: str, cure: str) -> DoctorFinding:
    return DoctorFinding(_TITLE, FindingLevel.WARNING, text, cure)
