"""Carry out a keyed write once: the record of its answer is a part of its own transaction.

    claim the key                an advisory lock of the transaction, and a look at the records
    the write's own statements   as the caller; the answer is made of their results while the transaction is open
    store the sealed answer      primary key: the key's place
    commit

So a record exists exactly where the write was committed. A second request with the key finds the record and returns it, or finds the
lock taken: it waits a moment without a connection, and is refused with 409 if the first one still has not ended. A transaction
whose snapshot is too old to see the record is failed by the primary key, and with it its write.

Nothing is stored for a write that fails or is rolled back: its repeat is carried out like a first one. When the connection to the
database breaks in between, the request is sent again by the worker itself: the record says whether it was carried out.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from broker.subjects import IDEMPOTENCY_REPLAYED
from schemas.http import Response
from schemas.settings.idempotency import Idempotency
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.session import End, Rows, Sessions, Statement, Work
from workers.idempotency import statements
from workers.idempotency.errors import KeyInUse, KeyReused, KeysUnavailable, TooManyKeys
from workers.idempotency.key import KeyedRequest
from workers.idempotency.record import RecordPlace, RecordSealer, StoredAnswer
from workers.idempotency.usage import UsageOfCallers

REPLAYED = (IDEMPOTENCY_REPLAYED, "true")
_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""How long a repeat waits for the first request: three quarters of a second in all."""
_FULL_FOR_S = 1.0
"""How long a count that was at its bound is believed."""
_SWEEP_EVERY_S, _SWEPT_AT_ONCE = 600.0, 5000
_CARRIED_OUT, _IN_USE = "HW001", "HW002"
_LATER_THAN_SNAPSHOT = frozenset({_CARRIED_OUT, "23505", "40001"})
_NOT_MIGRATED = frozenset({"3F000", "42883", "42501"})


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer of a write, and whether its transaction is committed."""

    response: Response
    is_kept: bool = True


Answering = Callable[[list[Rows]], Finished | Sequence[Statement]]
"""Looks at results and returns the answer, or more statements; asked again with their results. May raise: all is rolled back."""
Prepare = Callable[[], tuple[Work, Answering]]
"""Makes the transaction of a write, which ends by a decision (`End.DECIDE`); called again for another attempt."""
WithoutBody = Callable[[StoredAnswer], Response]
"""Makes the answer of a repeat where the first answer was too long to be stored."""


class KeyedWrites:
    """Carries out keyed writes of one pool."""

    def __init__(
        self, sessions: Sessions, sealer: RecordSealer, settings: Idempotency, without_body: WithoutBody
    ) -> None:
        self._sessions, self._sealer, self._settings = sessions, sealer, settings
        self._without_body = without_body
        self._usage = UsageOfCallers(settings.max_keys, int(settings.max_bytes), time.monotonic)

    async def run(self, request: KeyedRequest, prepare: Prepare) -> Response:
        """Carry out a write, or return the first answer of its key.

        Raises: IdempotencyError; what the write raises.
        """
        place = self._sealer.place(request)
        await self._check_room(place)
        pauses, may_reconnect = iter(_PAUSES_S), True
        while True:
            try:
                response = await self._attempt(place, request, prepare)
            except Disconnected:  # it may have been carried out: the record says so
                if not may_reconnect:
                    raise
                may_reconnect, pause = False, _PAUSES_S[0]
            else:
                if response is not None:
                    return response
                if (following := next(pauses, None)) is None:
                    raise KeyInUse
                pause = following
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _attempt(self, place: RecordPlace, request: KeyedRequest, prepare: Prepare) -> Response | None:
        """Run the transaction, or return the first answer; None while another transaction has the key. Raises: as `run`."""
        work, answering = prepare()
        recording = _Recording(self._seal_for(place, request), answering)
        try:
            await self._sessions.run(recording.around(work, place), recording)
        except DatabaseError as error:
            if recording.is_in_use(error):
                return None
            if recording.is_carried_out(error):
                return await self._replay(place, request)
            raise recording.error_of_write(error) from None
        if recording.counted is not None:
            self._usage.counted(place.caller, *recording.counted)
        elif recording.size:
            self._usage.add(place.caller, recording.size)
        assert recording.response is not None  # the decision was asked
        return recording.response

    async def sweep(self) -> None:
        """Delete expired records, now and then; never returns. What fails is tried again the next time."""
        work = Work((), [statements.sweep(_SWEPT_AT_ONCE)])
        while True:
            await asyncio.sleep(_SWEEP_EVERY_S * random.uniform(0.5, 1.5))
            with suppress(DatabaseError, Disconnected, PoolTimeout):
                swept = _SWEPT_AT_ONCE
                while swept >= _SWEPT_AT_ONCE:
                    swept = int((await self._sessions.run(work))[0][0][0] or 0)

    async def _check_room(self, place: RecordPlace) -> None:
        """See that the caller may have another key, or that this one is stored. Raises: TooManyKeys."""
        if not self._usage.is_full(place.caller):
            return
        if self._usage.is_old(place.caller, _FULL_FOR_S):
            rows = (await self._sessions.run(Work((), [statements.count(place.caller)])))[0]
            self._usage.counted(place.caller, int(rows[0][0] or 0), int(rows[0][1] or 0))
        if self._usage.is_full(place.caller) and await self._read(place) is None:
            raise TooManyKeys(self._settings.max_keys)

    async def _replay(self, place: RecordPlace, request: KeyedRequest) -> Response | None:
        """Return the first answer, None if there is none any more. Raises: KeyReused, KeysUnavailable."""
        sealed = await self._read(place)
        if sealed is None:
            return None
        record = self._sealer.open(place, sealed)
        if record is None:
            raise KeysUnavailable("The answer of the first request with this key cannot be read")
        if record.fingerprint != request.fingerprint:
            raise KeyReused
        if record.body is None:
            response = self._without_body(record)
        else:
            response = Response(record.status, record.headers, record.body)
        return msgspec.structs.replace(response, headers=[*response.headers, REPLAYED])

    async def _read(self, place: RecordPlace) -> bytes | None:
        rows = await self._sessions.run(Work((), [statements.read(place.slot)], read_only=True))
        return rows[0][0][0]

    def _seal_for(self, place: RecordPlace, request: KeyedRequest) -> "_Seal":
        counts = self._usage.is_old(place.caller)

        def seal(response: Response) -> tuple[int, list[Statement]]:
            most = min(int(self._settings.max_answer), self._usage.room(place.caller))
            sealed = self._sealer.seal(place, request, response, most)
            keep_s = float(self._settings.keep)
            return len(sealed), statements.keep(place.slot, place.caller, sealed, keep_s, counts=counts)

        return seal


_Seal = Callable[[Response], tuple[int, list[Statement]]]
"""Makes the statements that store an answer, and returns the size of its record."""


class _Recording:
    """The decision of a keyed transaction: that of the write, then the record, then the commit."""

    def __init__(self, seal: _Seal, answering: Answering) -> None:
        self._seal, self._answering = seal, answering
        self._is_claimed = self._is_recording = self._is_recorded = False
        self.response: Response | None = None
        self.size = 0
        """Bytes of the record."""
        self.counted: tuple[int, int] | None = None

    def around(self, work: Work, place: RecordPlace) -> Work:
        """Return the work with the claim before its own statements."""
        if work.end is not End.DECIDE:
            raise ValueError("a keyed write ends by a decision")
        claiming = statements.claim(place.slot)
        return msgspec.structs.replace(work, statements=[*claiming, *work.statements])

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]:
        if self._is_recording:
            if len(results) > 3:
                keys, size = results[2][0]
                self.counted = int(keys or 0), int(size or 0)
            self._is_recorded = True
            return True
        if not self._is_claimed:
            self._is_claimed = True
            results = results[statements.CLAIMING :]
        answer = self._answering(results)
        if not isinstance(answer, Finished):
            return answer
        self.response = answer.response
        if not answer.is_kept:
            return False
        self.size, keeping = self._seal(answer.response)
        self._is_recording = True
        return keeping

    def is_in_use(self, error: DatabaseError) -> bool:
        """Return whether another transaction has the key."""
        return self._is_of_claim(error) and error.code == _IN_USE

    def is_carried_out(self, error: DatabaseError) -> bool:
        """Return whether a record is there, which this transaction may not have been able to see."""
        if self._is_of_claim(error):
            return error.code == _CARRIED_OUT
        return self._is_recording and not self._is_recorded and error.code in _LATER_THAN_SNAPSHOT

    def error_of_write(self, error: DatabaseError) -> Exception:
        """Return the error as the write alone would have met it."""
        if self._is_of_claim(error) and error.code in _NOT_MIGRATED:
            return KeysUnavailable("The database is not up to date: it cannot store idempotency keys")
        if not self._is_claimed and error.statement_index is not None:
            index = error.statement_index - statements.CLAIMING
            error.statement_index = index if index >= 0 else None
        return error

    def _is_of_claim(self, error: DatabaseError) -> bool:
        """Return whether the claim failed. Errors of the project's own functions may have any code."""
        return not self._is_claimed and error.statement_index == statements.CLAIM_AT
