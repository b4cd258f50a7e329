"""Changes as messages in topics of Kafka, `<stream>.<schema>.<table>`, at least once: what was sent when the process died may be sent again, with the same position."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from urllib.parse import unquote

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from schemas.changes import Values
from schemas.settings.stream_checks import split_target
from schemas.settings.streams import StreamSettings
from workers.streams.debezium_messages import DebeziumForm
from workers.streams.model import READ, CopyPlace, SourceTable, StreamChange, TargetAway

_ANSWER_MS = 15_000
_STORED_S, _STOP_S = 20.0, 2.0
_MOST_BYTES = 16 * 1024 * 1024


class KafkaTarget:
    """One table of a Kafka target."""

    keeps_place = False
    newest_epoch = 0

    def __init__(self, name: str, settings: StreamSettings, source: SourceTable) -> None:
        self._name, self._settings = name, settings
        self._topic = f"{name}.{source.schema}.{source.name}"
        self._form = DebeziumForm(name, source)
        self._producer: AIOKafkaProducer | None = None

    async def open(self) -> CopyPlace | None:
        """Connect. Raises: TargetAway."""
        parts = split_target(self._settings)
        is_secured = parts.scheme == "kafkas"
        protocol = ("SASL_" if parts.username else "") + ("SSL" if is_secured else "PLAINTEXT")
        self._producer = producer = AIOKafkaProducer(
            bootstrap_servers=f"{parts.hostname}:{parts.port or 9092}",
            enable_idempotence=True,
            request_timeout_ms=_ANSWER_MS,
            max_request_size=_MOST_BYTES,
            compression_type="gzip",
            security_protocol=protocol,
            ssl_context=ssl.create_default_context() if is_secured else None,
            sasl_mechanism=self._settings.sasl,
            sasl_plain_username=unquote(parts.username) if parts.username else None,
            sasl_plain_password=unquote(parts.password) if parts.password else None,
        )
        with _errors():
            async with asyncio.timeout(_STORED_S):
                await producer.start()
        return None

    async def fit(self, source: SourceTable, renamed: Sequence[tuple[str, str]]) -> None:
        """Send the columns as they are now."""
        self._form = DebeziumForm(self._name, source)

    async def snapshot(self, pages: AsyncIterator[list[Values]], place: CopyPlace) -> int:
        """Send all rows as `r`. Raises: TargetAway."""
        at_us, count = time.time_ns() // 1000, 0
        async for page in pages:
            rows = enumerate(page, count)
            await self._send([
                StreamChange(READ, row, None, place.snapshot_lsn, 0, index, at_us) for index, row in rows
            ])  # fmt: skip
            count += len(page)
        return count

    async def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Send changes. Raises: TargetAway."""
        await self._send(changes)

    async def tidy(self) -> None:
        """Nothing: topics have limits of their own."""

    def figures(self) -> Mapping[str, float]:
        """Nothing is counted."""
        return {}

    async def close(self) -> None:
        """Close the connection."""
        producer, self._producer = self._producer, None
        if producer is not None:
            # Without this it goes on sending what was given up here, beside the producer that sends it again.
            producer._message_accumulator.fail_all(KafkaError("given up"))
            stopping = asyncio.ensure_future(producer.stop())
            await asyncio.wait({stopping}, timeout=_STOP_S)
            stopping.cancel()
            # Whatever it raises: what it has not sent is sent again.
            await asyncio.gather(stopping, producer.client.close(), return_exceptions=True)

    async def _send(self, changes: Sequence[StreamChange]) -> None:
        producer, now_ms = self._producer, time.time_ns() // 1_000_000
        assert producer is not None  # opened before
        # The producer itself tries for ever, so that nothing is doubled within its life.
        with _errors():
            async with asyncio.timeout(_STORED_S):
                sent = [
                    await producer.send(self._topic, value, key)
                    for change in changes
                    for key, value in self._form.messages(change, now_ms)
                ]
                for message in sent:
                    await message


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of Kafka and of its connection as TargetAway."""
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise TargetAway(f"Kafka does not take messages: {type(error).__name__}") from None
