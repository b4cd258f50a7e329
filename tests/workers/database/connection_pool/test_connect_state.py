"""All interleavings of what happens to a pool that connects (property test of the pure transitions)."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from workers.database.connection_pool.connect_state import (
    Closed,
    CloseRequested,
    ConnectionsNeeded,
    Failed,
    Open,
    PoolLoad,
    ServerFellSilent,
    Succeeded,
    TimerFired,
    Waiting,
    attempts_to_start,
    transition,
)
from workers.database.errors import Disconnected

_REFUSED = Disconnected("refused")


class PoolModel(RuleBasedStateMachine):
    """A pool that counts its attempts, connections and callers by itself, and obeys each step."""

    @initialize(size=st.integers(1, 4))
    def make(self, size):
        self.size, self.state = size, Open()
        self.attempts = self.connections = self.busy = self.callers = 0
        self.is_timer_set = False
        self.now = 0.0

    def handle(self, event):
        before = self.state
        load = PoolLoad(self.connections, self.callers, self.size)
        self.state = transition(before, event, load)
        started = attempts_to_start(before, event, self.state)
        assert started >= 0
        assert started == 0 or not isinstance(self.state, Closed)
        self.attempts += started
        self.is_timer_set = isinstance(self.state, Waiting)

    def serve(self):
        served = min(self.callers, self.connections - self.busy)
        self.callers -= served
        self.busy += served

    @property
    def is_closed(self):
        return isinstance(self.state, Closed)

    @rule()
    def caller_comes(self):
        if self.is_closed or (self.state.error is not None and not self.connections):
            return  # it fails at once
        self.callers += 1
        self.serve()
        if self.callers:
            self.handle(ConnectionsNeeded())

    @precondition(lambda self: self.callers)
    @rule()
    def caller_gives_up(self):
        self.callers -= 1

    @precondition(lambda self: self.busy)
    @rule()
    def caller_is_done(self):
        self.busy -= 1
        self.serve()

    @precondition(lambda self: self.attempts)
    @rule()
    def attempt_succeeds(self):
        self.attempts -= 1
        if not self.is_closed:
            self.connections += 1
            self.serve()
        self.handle(Succeeded())

    @precondition(lambda self: self.attempts)
    @rule(pause=st.floats(0.01, 1))
    def attempt_fails(self, pause):
        self.attempts -= 1
        self.handle(Failed(_REFUSED, self.now + pause))
        if not self.connections:
            self.callers = 0

    @rule()
    def timer_fires(self):
        """It may have fired in the loop iteration in which it was cancelled."""
        if isinstance(self.state, Waiting):
            self.now = self.state.until
        self.handle(TimerFired())

    @precondition(lambda self: self.connections)
    @rule(was_busy=st.booleans())
    def connection_is_lost(self, was_busy):
        self.connections -= 1
        self.busy = max(self.busy - was_busy, 0) if self.busy <= self.connections else self.connections
        if self.state.error is not None and not self.connections:
            self.callers = 0
        self.serve()
        self.handle(ConnectionsNeeded())

    @rule(pause=st.floats(0.01, 1))
    def server_falls_silent(self, pause):
        """The state changes before the connections are lost, as in OpenConnections.give_up."""
        self.handle(ServerFellSilent(_REFUSED, self.now + pause))
        while self.connections:
            self.connection_is_lost(was_busy=bool(self.busy))
        self.callers = 0

    @precondition(lambda self: self.connections > self.busy and not self.callers)
    @rule()
    def idle_connection_is_closed(self):
        self.connections -= 1

    @rule()
    def pool_is_closed(self):
        self.callers = 0
        self.handle(CloseRequested())

    @invariant()
    def attempts_are_those_that_were_started(self):
        if hasattr(self, "state"):
            assert self.state.attempts == self.attempts
            if not self.is_closed:
                assert self.attempts + self.connections <= self.size

    @invariant()
    def callers_are_waited_for(self):
        """While callers wait an attempt is under way or a timer is set, or no more connections may be opened."""
        if hasattr(self, "state") and self.callers and not self.is_closed:
            assert self.attempts or self.is_timer_set or self.connections == self.size

    @invariant()
    def callers_do_not_fail_for_good(self):
        """While callers fail at once an attempt is under way or a timer is set."""
        if hasattr(self, "state") and not self.is_closed and self.state.error is not None:
            assert self.attempts or self.is_timer_set


TestPoolModel = PoolModel.TestCase
