"""Replication in a process: it leads or stands by until the process drains. No other component sends it queries."""

import asyncio
import zlib
from collections.abc import Sequence
from contextlib import suppress

from broker.backoff import Backoff
from broker.jetstream.errors import JetStreamError
from broker.jetstream.replica_watch import ReplicaWatch
from broker.jetstream.stream_watch import SWITCHED_OFF, StreamWatch
from broker.nats.connection import NatsConnection, NoResponders
from broker.nats.protocol import MessageTooLong
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.causes import cause_keys
from schemas.errors import Unavailable
from schemas.settings.realtime import RealtimeSettings
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead
from workers.database.sessions.replication import SESSION, StreamLost
from workers.replication.causing_requests import CausingRequests
from workers.replication.conversions import Conversions
from workers.replication.observations import (
    ReplicationCrashed,
    ReplicationLost,
    ReplicationRefused,
    ReplicationWaits,
)
from workers.replication.pgoutput import MalformedMessage
from workers.replication.slot import ReplicationImpossible
from workers.replication.slot_monitor import SlotMonitor
from workers.replication.term import ReplicationTerm
from workers.resources import Resources

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_IMPOSSIBLE_PAUSE_S = 15.0
_PASSING = (
    StreamLost,
    LeadershipLost,
    Unavailable,
    MessageTooLong,
    MalformedMessage,
    DatabaseError,
    Disconnected,
)
_REFUSED = ("28000", "28P01", "3D000")
"""SQLSTATEs of a server that rejects the login; these errors do not pass by themselves."""
_SPACE = 0x68776368
"""First half of the number of the leader's advisory lock; the second is computed from the slot's name."""
_NAME = "headwater changes leader"
_SETTINGS = {**SESSION, "tcp_user_timeout": "20000"}


async def serve_pool(resources: Resources) -> None:
    """Start to lead or to stand by, until the process drains. If realtime is switched off nothing is done."""
    settings = resources.settings.realtime
    if not settings.enabled:
        return
    keys = cause_keys(resources.settings.auth)
    replication = Replication(
        resources.connection, resources.url_of(settings.login), settings, resources.url, keys
    )
    resources.process.on_drain(replication.close)
    replication.start()


class Replication:
    """Leads or stands by from `start` to `close`, and recovers from failures of the database and of the broker.

    `url` names a login that may replicate, `values_url` the login that converts values (conversions.py),
    `keys` verify which request made a change.
    """

    def __init__(
        self,
        connection: NatsConnection,
        url: str,
        settings: RealtimeSettings,
        values_url: str,
        keys: Sequence[bytes] = (),
    ) -> None:
        self._values_url, self._keys = values_url, keys
        self._connection, self._url, self._settings = connection, url, settings
        self._lock = (_SPACE, zlib.crc32(settings.slot_name.encode()) - 2**31)
        self._monitor = SlotMonitor(settings.slot_name)
        self._stream_watch = StreamWatch(connection, CHANGES_STREAM, may_move=True)
        self._replica_watch = ReplicaWatch(connection, CHANGES_STREAM)
        self._task: asyncio.Task[None] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._reported = ""

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        return self._monitor.is_leader

    def start(self) -> None:
        """Start the task."""
        if self._connection.replicas > 1:
            self._replica_watch.start()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="replication")

    async def close(self) -> None:
        """Stop. What is not confirmed is published again by the next leader; the stream stores it once."""
        self._monitor.close()
        await self._stream_watch.close()
        await self._replica_watch.close()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            pause_s = await self._lead_once()
            await asyncio.sleep(pause_s)

    async def _lead_once(self) -> float:
        """Lead until an error; return the seconds to wait before the next try."""
        try:
            await lead(
                self._url, self._lock, self._run_leader, self._on_waiting, name=_NAME, settings=_SETTINGS
            )
        except ReplicationImpossible as error:
            return self._reject(str(error))
        except Disconnected as error:
            if error.code in _REFUSED:
                return self._reject(f"role {self._settings.login} cannot log in: {error}")
            self._report(str(error))
        except JetStreamError as refused:
            self._stream_watch.rejected(refused.code, refused.description)
            self._report(str(refused))
        except NoResponders as error:
            self._stream_watch.unanswered(SWITCHED_OFF, is_sticky=True)
            self._report(str(error))
        except _PASSING as error:
            self._report(str(error) or type(error).__name__)
        except Exception as error:  # no other task would report it, and without this task no change is read
            observe(ReplicationCrashed(traceback_of(error)))
        finally:
            self._monitor.reset()
        return self._backoff.next_s()

    async def _run_leader(self, leadership: Leadership) -> None:
        self._monitor.is_leader = True
        conversions = Conversions(self._values_url)
        term = ReplicationTerm(
            self._connection,
            leadership.ask,
            conversions.ask,
            self._url,
            self._settings,
            self._stream_watch,
            CausingRequests(self._keys),
        )
        self._monitor.confirmed = lambda: term.confirmed
        self._monitor.unconfirmed = lambda: term.unconfirmed
        try:
            await leadership.work(lambda: term.run(self._on_streaming), lambda: self._monitor.run(leadership))
        finally:
            await conversions.close()

    def _on_streaming(self) -> None:
        self._backoff.reset()
        self._reported = ""

    def _on_waiting(self) -> None:
        self._reported = ""
        observe(ReplicationWaits(self._settings.slot_name))

    def _report(self, reason: str) -> None:
        if reason != self._reported:
            self._reported = reason
            observe(ReplicationLost(reason))

    def _reject(self, reason: str) -> float:
        if reason != self._reported:
            self._reported = reason
            observe(ReplicationRefused(reason))
        return _IMPOSSIBLE_PAUSE_S
