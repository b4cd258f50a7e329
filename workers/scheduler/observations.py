"""Observations of the scheduler: ids, counts and reasons, never a command, an address or a response."""

from typing import ClassVar

from broker.observability.observations import Observation


class SchedulerLeads(Observation, frozen=True):
    """This process runs the schedules."""

    ended: int
    """Sessions of jobs that the previous scheduler had left, and that were terminated."""


class SchedulerWaits(Observation, frozen=True):
    """Another process runs the schedules; this one stands by."""

    level: ClassVar[str] = "debug"


class SchedulerLost(Observation, frozen=True):
    """The scheduler lost the database, or its lead; it retries."""

    level: ClassVar[str] = "warning"
    reason: str


class SchedulerCrashed(Observation, frozen=True):
    """Running the schedules failed because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class JobRan(Observation, frozen=True):
    """A job ran."""

    level: ClassVar[str] = "debug"
    job: int
    run: int
    seconds: float


class JobFailed(Observation, frozen=True):
    """A job failed; the reason is in cron.job_run_details."""

    level: ClassVar[str] = "warning"
    job: int
    run: int
    code: str


class RunMissed(Observation, frozen=True):
    """A run was due while no scheduler could start it; it is not caught up."""

    level: ClassVar[str] = "warning"
    schedule: str
    late_s: float


class ClockSetBack(Observation, frozen=True):
    """The clock of this machine was set back; schedules count from the new time."""

    level: ClassVar[str] = "warning"
    seconds: int


class RunDropped(Observation, frozen=True):
    """Too many runs of one schedule wait; this one is dropped."""

    level: ClassVar[str] = "warning"
    schedule: str


class SchedulesNotRead(Observation, frozen=True):
    """The database did not return the schedules of jobs, or the runs that administrators requested; those read before stay, and it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class ScheduleUnreadable(Observation, frozen=True):
    """A schedule is invalid and does not run."""

    level: ClassVar[str] = "error"
    schedule: str
    reason: str


class FunctionCalled(Observation, frozen=True):
    """A scheduled function was called."""

    level: ClassVar[str] = "debug"
    function: str
    status: int


class FunctionCallFailed(Observation, frozen=True):
    """A scheduled function did not answer with success."""

    level: ClassVar[str] = "warning"
    function: str
    reason: str


class RequestSent(Observation, frozen=True):
    """A request of SQL was answered."""

    level: ClassVar[str] = "debug"
    id: int
    status: int


class RequestNotAnswered(Observation, frozen=True):
    """A request of SQL got no answer; the reason is in net._http_response."""

    level: ClassVar[str] = "debug"
    id: int
    reason: str


class WaitingAnswered(Observation, frozen=True):
    """A request of the extension http was answered."""

    level: ClassVar[str] = "debug"
    status: int


class WaitingNotAnswered(Observation, frozen=True):
    """A request of the extension http got no answer; the waiting session receives the reason."""

    level: ClassVar[str] = "debug"
    reason: str


class QueueConsumerStopped(Observation, frozen=True):
    """A function does not consume its queue, for the reason given; it is tried again."""

    level: ClassVar[str] = "error"
    function: str
    queue: str
    reason: str


class QueueConsumerFailing(Observation, frozen=True):
    """Calls of a function with messages of its queue fail; they are tried again."""

    level: ClassVar[str] = "warning"
    function: str
    queue: str
    reason: str


class QueueConsumerRecovered(Observation, frozen=True):
    """A function takes messages of its queue again."""

    function: str
    queue: str


class QueueMessageSetAside(Observation, frozen=True):
    """A message failed as often as `retries` allows; it is in the queue of dead letters, or in the archive."""

    level: ClassVar[str] = "warning"
    function: str
    queue: str
    message: int
    reason: str


class QueueConsumerCrashed(Observation, frozen=True):
    """Consuming a queue failed because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class DurableJobsStopped(Observation, frozen=True):
    """Runs of durable jobs are not taken, for the reason given; it is tried again."""

    level: ClassVar[str] = "error"
    reason: str


class DurableRunFailed(Observation, frozen=True):
    """An attempt of a run of a durable job failed; the run is tried again, or has failed if it did so too often (`headwater jobs show`)."""

    level: ClassVar[str] = "warning"
    job: str
    run: str
    reason: str


class DurableJobsCrashed(Observation, frozen=True):
    """Working on a run of a durable job failed because of an error in our own code; it is taken again when its lease is over."""

    level: ClassVar[str] = "error"
    traceback: str
