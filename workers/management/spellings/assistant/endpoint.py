"""Answers `POST /assistant`: a conversation -> the events of one turn as NDJSON, while they happen.

Only administrators with a session use it: the conversation goes to a service of the operator's choice, under the name of a person. Nothing
of it is stored here; the audit log has that the assistant was asked, and each tool that was called.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import msgspec

from broker.requests.handler import RequestBody, StreamedResponse
from schemas.http import Request
from schemas.settings.tree import SettingsError
from workers.http_client.address_guard import AddressGuard, make_guard
from workers.http_client.client import HttpClient
from workers.management.interface.audit import write_call
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.model import Actor
from workers.management.interface.operation import StreamedResult
from workers.management.interface.operation_runner import OperationRunner
from workers.management.interface.respond import stream_response
from workers.management.spellings.assistant.conversation import MOST_BODY_BYTES, read_request
from workers.management.spellings.assistant.model_stream import address_fault
from workers.management.spellings.assistant.model_tools import assistant_access
from workers.management.spellings.assistant.turn import AssistantTurn, Event

ASSISTANT_PATH = "/assistant"
MOST_TURNS = 8
"""Turns of one process at a time."""
_BUSY = f"{MOST_TURNS} conversations are in progress; try again soon"


@dataclass(slots=True)
class AssistantEndpoint:
    """Answers by the model of the settings and the tools of `runner`."""

    runner: OperationRunner
    guard: AddressGuard = field(init=False)
    client: HttpClient = field(init=False)
    running: int = 0

    def __post_init__(self) -> None:
        """Read which addresses are allowed. Raises: SettingsError."""
        try:
            self.guard = make_guard(self.runner.configuration.assistant.allow)
        except ValueError as error:
            raise SettingsError(f"assistant.allow: {error}") from None
        self.client = HttpClient(self.guard)

    async def answer(self, request: Request, actor: Actor, body: RequestBody) -> StreamedResponse:
        """Answer one request. Raises: ManagementError (400, 403, 404, 405, 409, 503)."""
        if request.method != "POST":
            raise ManagementError(
                405, "method_not_allowed", "This path takes POST", headers=[("allow", "POST")]
            )
        if actor.session_id is None or actor.needs_factor:
            raise ManagementError(403, "no_session", "The assistant answers administrators who are signed in")
        settings = self.runner.configuration.assistant
        if not settings.enabled:
            raise ManagementError(
                404, "assistant_off", "The assistant is switched off",
                hint="An owner switches it on under Settings, Assistant.",
            )  # fmt: skip
        fault = address_fault(settings, self.guard) or (
            "" if settings.model else "assistant.model is not set"
        )
        if fault:
            raise ManagementError(
                409, "assistant_unusable", fault, hint="Settings, Assistant has its address."
            )
        conversation = read_request(await body.read(MOST_BODY_BYTES))
        if self.running >= MOST_TURNS:
            raise ManagementError(
                503, "busy", _BUSY,
                headers=[("retry-after", "5")],
            )  # fmt: skip
        context = self.runner.context(actor, request.id, request.client)
        asked = {
            "model": settings.model,
            "sends_rows": settings.sends_rows,
            "messages": len(conversation.messages),
        }
        await write_call(context, "assistant.ask", asked, "done")
        turn = AssistantTurn(self.client, settings, self.runner, request, assistant_access(actor))
        return stream_response(StreamedResult("application/x-ndjson", self._lines(turn.events(conversation))))

    async def close(self) -> None:
        """Close the connections to the model."""
        await self.client.close()

    async def _lines(self, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
        if self.running >= MOST_TURNS:  # others began while the audit row was written
            for event in ({"kind": "error", "message": _BUSY}, {"kind": "end", "messages": []}):
                yield msgspec.json.encode(event) + b"\n"
            return
        self.running += 1
        try:
            async for event in events:
                yield msgspec.json.encode(event) + b"\n"
        finally:
            self.running -= 1
