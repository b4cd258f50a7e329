"""Define what can be observed, one frozen struct for each kind. `broker/observability/observe.py` turns them into
logs and metrics.

The first line of the docstring is the text of the log line, the class name its `event`, the fields its data;
`level` is the level it is logged at. A package may define further observations beside its code: any struct works.
A field must not contain a secret, a claim, a header or a value of a request.
"""

from typing import ClassVar

from msgspec import Struct


class Observation(Struct, frozen=True):
    """Something happened."""

    level: ClassVar[str] = "info"
    is_stored: ClassVar[bool] = False
    """Its lines go into the store of log lines also when its level is not written to the log file."""


class ProcessReady(Observation, frozen=True):
    """The process is ready."""

    after_s: float


class ProcessDraining(Observation, frozen=True):
    """The process finishes its running work and then exits."""

    reason: str


class ProcessEnded(Observation, frozen=True):
    """The process exits."""

    code: int


class ProcessCrashed(Observation, frozen=True):
    """The process crashed."""

    level: ClassVar[str] = "error"
    reason: str
    traceback: str = ""


class SettingsRefused(Observation, frozen=True):
    """The settings cannot be used."""

    level: ClassVar[str] = "error"
    reason: str


class DrainFailed(Observation, frozen=True):
    """A part of the process failed while it was closed."""

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
    """For a status of 500 or more: the code and message of the response, as far as they cannot quote values."""
    sql_s: float = 0.0
    """Time that its transactions took on the database."""
    is_sampled: bool = False
    """Its line is stored although it is successful and quick."""


class RequestRefused(Observation, frozen=True):
    """A pool rejected a request before it was started."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    reason: str
    """`full`: the queue is full; `share`: the caller has used its share; `late`: it would start too late; `waited`: it did not start in time."""


class ConnectionRefused(Observation, frozen=True):
    """A request got no database connection."""

    level: ClassVar[str] = "debug"
    login: str
    reason: str
    """One of the reasons of `RequestRefused`."""


class RequestCancelled(Observation, frozen=True):
    """A request was cancelled before it was answered."""

    level: ClassVar[str] = "debug"
    pool: str
    id: str
    reason: str


class RequestFailed(Observation, frozen=True):
    """A call to a pool got no reply."""

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
    """A handler raised an unexpected exception; the caller got a 500."""

    level: ClassVar[str] = "error"
    pool: str
    id: str
    reason: str
    traceback: str


class BodyCut(Observation, frozen=True):
    """A body that is sent as chunks did not reach its end."""

    level: ClassVar[str] = "debug"
    side: str
    reason: str


class BrokerLost(Observation, frozen=True):
    """The connection to the broker is lost."""

    level: ClassVar[str] = "warning"
    reason: str


class BrokerLeft(Observation, frozen=True):
    """The broker's server is in lame-duck mode; the connection moved to another one."""


class BrokerBack(Observation, frozen=True):
    """The connection to the broker is back."""

    after_s: float


class BrokerComplained(Observation, frozen=True):
    """The broker rejected something that this process sent."""

    level: ClassVar[str] = "error"
    reason: str


class StreamRecreated(Observation, frozen=True):
    """A JetStream stream was missing and was created again; its messages are lost."""

    level: ClassVar[str] = "error"
    stream: str


class CallbackFailed(Observation, frozen=True):
    """A callback of a subscription raised an exception."""

    level: ClassVar[str] = "error"
    subject: str
    reason: str
    traceback: str


class EventsDropped(Observation, frozen=True):
    """Events arrived faster than they were handled; the oldest were dropped."""

    level: ClassVar[str] = "warning"
    subject: str
    count: int


class EventUnreadable(Observation, frozen=True):
    """An event is not of the expected type and was skipped."""

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
    """The file of signing keys has changed and is in use."""

    public: int
    """The number of public keys in it."""


class SigningKeysRefused(Observation, frozen=True):
    """The file of signing keys cannot be used; the previous keys stay in use."""

    level: ClassVar[str] = "error"
    reason: str
