"""Replication in a process: it leads, or stands by, until the process drains. Nothing here is asked by anybody."""

import asyncio
import random
import zlib
from contextlib import suppress

from broker.jetstream.errors import JetStreamRefused
from broker.jetstream.stream_watch import SWITCHED_OFF, StreamWatch
from broker.nats.connection import Connection, NoResponders
from broker.nats.protocol import MessageTooLong
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.errors import Unavailable
from schemas.settings.realtime import Realtime
from workers.database.errors import DatabaseError, Disconnected
from workers.database.leader import Leadership, LeadershipLost, lead
from workers.replication.conversions import Conversions
from workers.replication.follow import Term
from workers.replication.observations import (
    ReplicationCrashed,
    ReplicationLost,
    ReplicationRefused,
    ReplicationWaits,
)
from workers.replication.pgoutput import Malformed
from workers.replication.session import SESSION, StreamLost
from workers.replication.slot import Unfit
from workers.replication.watch import Watch
from workers.resources import Resources

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 5.0
_UNFIT_PAUSE_S = 15.0
_PASSING = (StreamLost, LeadershipLost, Unavailable, MessageTooLong, Malformed, DatabaseError, Disconnected)
_REFUSED = ("28000", "28P01", "3D000")
"""SQLSTATEs of a server that does not let the role in: nothing that passes by itself."""
_SPACE = 0x68776368
"""First half of the number of the leader's lock; the second is made of the slot's name."""
_NAME = "headwater changes leader"
_SETTINGS = {**SESSION, "tcp_user_timeout": "20000"}


async def serve_pool(resources: Resources) -> None:
    """Begin to lead or to stand by; it ends with the process. Where realtime is switched off nothing is done."""
    settings = resources.settings.realtime
    if not settings.enabled:
        return
    replication = Replication(resources.connection, resources.url_of(settings.login), settings, resources.url)
    resources.process.on_drain(replication.close)
    replication.begin()


class Replication:
    """Leads or stands by from `begin` to `close`, over failures of either side.

    `url` is that of a login that may replicate, `values_url` that of the interface's (conversions.py).
    """

    def __init__(self, connection: Connection, url: str, settings: Realtime, values_url: str) -> None:
        self._values_url = values_url
        self._connection, self._url, self._settings = connection, url, settings
        self._lock = (_SPACE, zlib.crc32(settings.slot_name.encode()) - 2**31)
        self._watch = Watch(settings.slot_name)
        self._stores = StreamWatch(connection, CHANGES_STREAM, may_move=True)
        self._task: asyncio.Task[None] | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._complaint = ""

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        return self._watch.is_leader

    def begin(self) -> None:
        """Begin."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="replication")

    async def close(self) -> None:
        """End. What is in hand is published again by the next leader, and kept once."""
        self._watch.close()
        await self._stores.close()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            pause_s = await self._try()
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.0))

    async def _try(self) -> float:
        """Lead until something breaks; give how long to wait before the next try."""
        try:
            await lead(self._url, self._lock, self._work, self._wait, name=_NAME, settings=_SETTINGS)
        except Unfit as error:
            return self._refuse(str(error))
        except Disconnected as error:
            if error.code in _REFUSED:
                return self._refuse(f"role {self._settings.login} cannot log in: {error}")
            self._complain(str(error))
        except JetStreamRefused as refused:
            self._stores.refused(refused.code, refused.description)
            self._complain(str(refused))
        except NoResponders as error:
            self._stores.unanswered(SWITCHED_OFF, is_sticky=True)
            self._complain(str(error))
        except _PASSING as error:
            self._complain(str(error) or type(error).__name__)
        except (
            Exception
        ) as error:  # the rim of a task that nobody else watches: what it does not survive, nobody reads
            observe(ReplicationCrashed(traceback_of(error)))
        finally:
            self._watch.rest()
        self._pause_s = min(self._pause_s * 2, _LAST_PAUSE_S)
        return self._pause_s / 2

    async def _work(self, leadership: Leadership) -> None:
        self._watch.is_leader = True
        conversions = Conversions(self._values_url)
        term = Term(
            self._connection, leadership.ask, conversions.ask, self._url, self._settings, self._stores
        )
        self._watch.confirmed = lambda: term.confirmed
        self._watch.unconfirmed = lambda: term.unconfirmed
        try:
            await leadership.work(
                lambda: term.run(self._stream), lambda: self._watch.look_regularly(leadership)
            )
        finally:
            await conversions.close()

    def _stream(self) -> None:
        self._pause_s, self._complaint = _FIRST_PAUSE_S, ""

    def _wait(self) -> None:
        self._complaint = ""
        observe(ReplicationWaits(self._settings.slot_name))

    def _complain(self, reason: str) -> None:
        if reason != self._complaint:
            self._complaint = reason
            observe(ReplicationLost(reason))

    def _refuse(self, reason: str) -> float:
        if reason != self._complaint:
            self._complaint = reason
            observe(ReplicationRefused(reason))
        return _UNFIT_PAUSE_S
