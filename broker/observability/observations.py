"""What can be observed: one frozen struct each. Code says what happened; `broker/observability/observe.py` decides what to show.

The first line of the docstring is the text of the log line, the class name its `event`, the fields its data;
`level` is the level it is logged at. A pool may add observations of its own beside its code: any struct will do.
No field may hold a secret, a claim, a header or a value of a request.
"""

from typing import ClassVar

from msgspec import Struct


class Observation(Struct, frozen=True):
    """Something happened."""

    level: ClassVar[str] = "info"


class ProcessReady(Observation, frozen=True):
    """The process is ready."""

    after_s: float


class ProcessDraining(Observation, frozen=True):
    """The process finishes what it has begun and then ends."""

    reason: str


class ProcessEnded(Observation, frozen=True):
    """The process ends."""

    code: int


class ProcessCrashed(Observation, frozen=True):
    """The process cannot go on."""

    level: ClassVar[str] = "error"
    reason: str
    traceback: str = ""


class SettingsRefused(Observation, frozen=True):
    """The settings cannot be used."""

    level: ClassVar[str] = "error"
    reason: str


class DrainFailed(Observation, frozen=True):
    """A part of the process did not end in order."""

    level: ClassVar[str] = "warning"
    part: str
    reason: str


class RequestAnswered(Observation, frozen=True):
    """A pool answered a request."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    status: int
    duration_s: float
    reason: str = ""
    """Why a status of 500 or more was answered, as far as the answer tells it without values."""


class RequestRefused(Observation, frozen=True):
    """A pool refused a request before it was begun."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    reason: str
    """`full`: the queue is; `share`: the caller has its part of it; `late`: it would be begun too late; `waited`: it was not begun in time."""


class ConnectionRefused(Observation, frozen=True):
    """A request got no connection to the database."""

    level: ClassVar[str] = "debug"
    login: str
    reason: str
    """As that of `RequestRefused`."""


class RequestCancelled(Observation, frozen=True):
    """A request was given up before it was answered."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    reason: str


class RequestFailed(Observation, frozen=True):
    """A call to a pool got no answer."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    reason: str


class MemberGone(Observation, frozen=True):
    """A worker is gone; its requests fail."""

    level: ClassVar[str] = "warning"
    pool: str
    member: str


class HandlerFailed(Observation, frozen=True):
    """A handler raised an exception that is no refusal; the caller got a 500."""

    level: ClassVar[str] = "error"
    pool: str
    id: str
    reason: str
    traceback: str


class BodyCut(Observation, frozen=True):
    """A body that followed as chunks did not reach its end."""

    level: ClassVar[str] = "debug"
    side: str
    reason: str


class BrokerLost(Observation, frozen=True):
    """The connection to the broker is lost."""

    level: ClassVar[str] = "warning"
    reason: str


class BrokerLeft(Observation, frozen=True):
    """The server of the broker is about to end, and was left for another one."""


class BrokerBack(Observation, frozen=True):
    """The connection to the broker is back."""

    after_s: float


class BrokerComplained(Observation, frozen=True):
    """The broker refused something this process sent."""

    level: ClassVar[str] = "error"
    reason: str


class StreamRecreated(Observation, frozen=True):
    """A stream of JetStream was gone, and was made again; what it held is lost."""

    level: ClassVar[str] = "error"
    stream: str


class CallbackFailed(Observation, frozen=True):
    """A callback of a subscription raised an exception."""

    level: ClassVar[str] = "error"
    subject: str
    reason: str
    traceback: str


class EventsDropped(Observation, frozen=True):
    """Events came faster than they were handled: the oldest were dropped."""

    level: ClassVar[str] = "warning"
    subject: str
    count: int


class EventUnreadable(Observation, frozen=True):
    """An event is not of the type it should be and was skipped."""

    level: ClassVar[str] = "error"
    subject: str
    reason: str


class EventFailed(Observation, frozen=True):
    """Handling an event raised an exception."""

    level: ClassVar[str] = "error"
    subject: str
    reason: str
    traceback: str


class DatabaseLost(Observation, frozen=True):
    """The connection to the database is lost."""

    level: ClassVar[str] = "warning"
    reason: str


class DatabaseBack(Observation, frozen=True):
    """The connection to the database is back."""

    after_s: float


class CatalogReloaded(Observation, frozen=True):
    """The schema cache was reloaded."""

    version: int
    relations: int
    functions: int
    duration_s: float


class CatalogReloadFailed(Observation, frozen=True):
    """The schema cache could not be reloaded; the old one stays in use."""

    level: ClassVar[str] = "error"
    reason: str


class SigningKeysRead(Observation, frozen=True):
    """The file of signing keys has changed and holds now."""

    public: int
    """Keys in it that everybody may see."""


class SigningKeysRefused(Observation, frozen=True):
    """The file of signing keys cannot be used; those read before go on holding."""

    level: ClassVar[str] = "error"
    reason: str
