"""Carries out a keyed write once: its response is stored in its own transaction.

    claim the key                a transaction-level advisory lock, and a query for the record
    the write's own statements   as the caller; the response is built from their results while the transaction is open
    store the sealed response    primary key: the slot of the record
    commit

So a record exists if and only if the write was committed. A second request with the key finds the record and returns it, or finds
the lock held: it waits without a connection (0.75 s in four steps), and gets 409 if the first one is still running. If a
transaction's snapshot is too old to see the record, the primary key makes it fail, and its write with it.

Nothing is stored for a write that fails or is rolled back: its repeat is carried out like a first request. If the connection to
the database breaks, the worker sends the transaction again itself: the record shows whether it was committed.
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
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionRunner, TransactionSpec
from workers.idempotency import statements
from workers.idempotency.errors import KeyInUse, KeyReused, KeysUnavailable, TooManyKeys
from workers.idempotency.key import KeyedRequest
from workers.idempotency.record import RecordPlace, RecordSealer, StoredAnswer
from workers.idempotency.usage import CallerUsages

REPLAYED = (IDEMPOTENCY_REPLAYED, "true")
_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Pauses of a repeat that waits for the first request: 0.75 s in total, then 409."""
_FULL_FOR_S = 1.0
"""Seconds for which a count at its limit is used without counting again."""
_SWEEP_EVERY_S, _SWEPT_AT_ONCE = 600.0, 5000
_CARRIED_OUT, _IN_USE = "HW001", "HW002"
_LATER_THAN_SNAPSHOT = frozenset({_CARRIED_OUT, "23505", "40001"})
_NOT_MIGRATED = frozenset({"3F000", "42883", "42501"})


@dataclass(frozen=True, slots=True)
class Finished:
    """The response of a write, and whether its transaction is committed."""

    response: Response
    is_kept: bool = True


MakeResponse = Callable[[list[Rows]], Finished | Sequence[Statement]]
"""Returns the response for results, or more statements, and is called again with their results. If it raises, all is rolled back."""
Prepare = Callable[[], tuple[TransactionSpec, MakeResponse]]
"""Returns the transaction of a write, with `TransactionEnd.DECIDE`; called again for another attempt."""
WithoutBody = Callable[[StoredAnswer], Response]
"""Returns the response of a repeat whose first response was too long to be stored."""


class KeyedWrites:
    """The keyed writes of one pool."""

    def __init__(
        self,
        database: TransactionRunner,
        sealer: RecordSealer,
        settings: Idempotency,
        without_body: WithoutBody,
    ) -> None:
        self._database, self._sealer, self._settings = database, sealer, settings
        self._without_body = without_body
        self._usage = CallerUsages(settings.max_keys, int(settings.max_bytes), time.monotonic)

    async def run(self, request: KeyedRequest, prepare: Prepare) -> Response:
        """Carry out a write, or return the first response of its key.

        Raises: IdempotencyError; what the write raises.
        """
        place = self._sealer.place(request)
        await self._check_room(place)
        pauses, may_reconnect = iter(_PAUSES_S), True
        while True:
            try:
                response = await self._attempt(place, request, prepare)
            except Disconnected:  # it may have been committed: the next attempt finds the record
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
        """Run the transaction, or return the first response; None while another transaction has the key. Raises: as `run`."""
        spec, make_response = prepare()
        recording = _Recording(self._seal_for(place, request), make_response)
        try:
            await self._database.run(recording.with_claim(spec, place), recording)
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
        assert recording.response is not None  # the decision has been called
        return recording.response

    async def sweep(self) -> None:
        """Delete expired records about every ten minutes; never returns. Failures are ignored until the next time."""
        spec = TransactionSpec((), [statements.sweep(_SWEPT_AT_ONCE)])
        while True:
            await asyncio.sleep(_SWEEP_EVERY_S * random.uniform(0.5, 1.5))
            with suppress(DatabaseError, Disconnected, PoolTimeout):
                swept = _SWEPT_AT_ONCE
                while swept >= _SWEPT_AT_ONCE:
                    swept = int((await self._database.run(spec))[0][0][0] or 0)

    async def _check_room(self, place: RecordPlace) -> None:
        """Check that the caller may store another key, or that this one is stored already. Raises: TooManyKeys."""
        if not self._usage.is_full(place.caller):
            return
        if self._usage.is_old(place.caller, _FULL_FOR_S):
            rows = (await self._database.run(TransactionSpec((), [statements.count(place.caller)])))[0]
            self._usage.counted(place.caller, int(rows[0][0] or 0), int(rows[0][1] or 0))
        if self._usage.is_full(place.caller) and await self._read(place) is None:
            raise TooManyKeys(self._settings.max_keys)

    async def _replay(self, place: RecordPlace, request: KeyedRequest) -> Response | None:
        """Return the first response, None if it has been deleted. Raises: KeyReused, KeysUnavailable."""
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
        rows = await self._database.run(TransactionSpec((), [statements.read(place.slot)], read_only=True))
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
"""Returns the size of a response's record and the statements that store it."""


class _Recording:
    """The commit decision of a keyed transaction: first the write's own decision, then the record, then the commit."""

    def __init__(self, seal: _Seal, make_response: MakeResponse) -> None:
        self._seal, self._answering = seal, make_response
        self._is_claimed = self._is_recording = self._is_recorded = False
        self.response: Response | None = None
        self.size = 0
        """Bytes of the record."""
        self.counted: tuple[int, int] | None = None

    def with_claim(self, spec: TransactionSpec, place: RecordPlace) -> TransactionSpec:
        """Return the transaction with the claim before its own statements."""
        if spec.end is not TransactionEnd.DECIDE:
            raise ValueError("a keyed write ends by a decision")
        claiming = statements.claim(place.slot)
        return msgspec.structs.replace(spec, statements=[*claiming, *spec.statements])

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
        """Return whether a record exists, even if this transaction's snapshot could not see it."""
        if self._is_of_claim(error):
            return error.code == _CARRIED_OUT
        return self._is_recording and not self._is_recorded and error.code in _LATER_THAN_SNAPSHOT

    def error_of_write(self, error: DatabaseError) -> Exception:
        """Return the error as it would be without the additional statements."""
        if self._is_of_claim(error) and error.code in _NOT_MIGRATED:
            return KeysUnavailable("The database is not up to date: it cannot store idempotency keys")
        if not self._is_claimed and error.statement_index is not None:
            index = error.statement_index - statements.CLAIMING
            error.statement_index = index if index >= 0 else None
        return error

    def _is_of_claim(self, error: DatabaseError) -> bool:
        """Return whether the claim failed. Errors of the project's own functions may have any code."""
        return not self._is_claimed and error.statement_index == statements.CLAIM_AT
