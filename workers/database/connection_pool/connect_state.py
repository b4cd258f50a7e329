"""When a pool connects to the database: one explicit state, and what each event changes in it (pure).

    Open --callers wait--> Connecting --succeeded--> Open, or Connecting while other attempts are under way
    every state but Closed --the server fell silent--> Waiting until T
                            |      ^
                     failed |      | the timer fired
                            v      |
                          Waiting until T                       every state --close--> Closed

After a failure one attempt at a time is made, each after a pause. Until one succeeds, callers fail at once if no connection
is open, so the state must never rest there: `Connecting` has at least one attempt under way, and for `Waiting` a timer is
set. The number of attempts is part of the state and changes in the same step as the outcome of an attempt. It must not be
derived from tasks: a task that has failed is done only in the next loop iteration, and a timer that fires in between would
still see it.

The caller (open_connections.py) sets the timer when it enters `Waiting` and cancels it when it leaves.
"""

from dataclasses import dataclass

from workers.database.errors import Disconnected


@dataclass(frozen=True, slots=True)
class Open:
    """The last attempt succeeded, or none was made; none is under way. Connections are opened when callers wait."""

    attempts = 0
    error = None


@dataclass(frozen=True, slots=True)
class Connecting:
    """Attempts are under way. `error` is why the one before them failed; None if it succeeded."""

    attempts: int
    error: Disconnected | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("a pool that is connecting has an attempt under way")


@dataclass(frozen=True, slots=True)
class Waiting:
    """An attempt failed; the next one is made at `until`. `attempts` are those that began before it failed."""

    until: float
    error: Disconnected
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """The pool is closed. `attempts` are those that have not ended yet."""

    attempts: int = 0
    error = None


ConnectState = Open | Connecting | Waiting | Closed


@dataclass(frozen=True, slots=True)
class Succeeded:
    """An attempt succeeded; its connection is open, and has been assigned to a caller if one waited."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt failed; the next one may be made at `retry_at`."""

    error: Disconnected
    retry_at: float


@dataclass(frozen=True, slots=True)
class TimerFired:
    """The pause after a failure is over."""


@dataclass(frozen=True, slots=True)
class ConnectionsNeeded:
    """A caller waits, or a connection was lost."""


@dataclass(frozen=True, slots=True)
class ServerFellSilent:
    """The server answers nothing, and all connections are given up; the next attempt may be made at `retry_at`."""

    error: Disconnected
    retry_at: float


@dataclass(frozen=True, slots=True)
class CloseRequested:
    """The pool is closed for good."""


ConnectEvent = Succeeded | Failed | TimerFired | ConnectionsNeeded | ServerFellSilent | CloseRequested


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Numbers of the pool at the time of an event: open connections, waiting requests, and the most connections."""

    open: int
    waiting: int
    size: int


def transition(state: ConnectState, event: ConnectEvent, load: PoolLoad) -> ConnectState:
    """Return the next state. The caller starts as many attempts as `attempts_to_start` returns for this step."""
    match state, event:
        case _, CloseRequested():
            return Closed(state.attempts)
        case Closed(), Succeeded() | Failed():
            return Closed(state.attempts - 1)
        case _, Succeeded():
            return _with_attempts(state.attempts - 1, load)
        case Closed(), ServerFellSilent():
            return state
        case Waiting(), ServerFellSilent():
            return Waiting(state.until, event.error, state.attempts)
        case _, ServerFellSilent():
            return Waiting(event.retry_at, event.error, state.attempts)
        case Waiting(), Failed():
            return Waiting(state.until, event.error, state.attempts - 1)
        case _, Failed():
            return Waiting(event.retry_at, event.error, state.attempts - 1)
        case Waiting(), TimerFired():
            if load.waiting or not load.open:
                return Connecting(max(state.attempts, 1), state.error)
            return Connecting(state.attempts) if state.attempts else Open()
        case Open() | Connecting(error=None), ConnectionsNeeded():
            return _with_attempts(state.attempts, load)
    return state


def attempts_to_start(before: ConnectState, event: ConnectEvent, after: ConnectState) -> int:
    """Return how many attempts a step starts: those of the new state that were not under way before."""
    return after.attempts - before.attempts + isinstance(event, Succeeded | Failed)


def _with_attempts(attempts: int, load: PoolLoad) -> ConnectState:
    """Return the state in which a connection is being opened for each request that waits, and one if none is open."""
    room = load.size - load.open - attempts
    missing = max(load.waiting, not load.open) - attempts
    attempts += max(0, min(room, missing))
    return Connecting(attempts) if attempts else Open()
