"""Answers a request of the official Management API: authenticate, find the endpoint, check the ref, read the body, answer."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from broker.requests.handler import RequestBody
from schemas.http import SERVER_ORIGIN, Request, Response, header
from workers.management.interface.errors import not_found
from workers.management.interface.identity.model import Actor
from workers.management.operations.project import ProjectDescription
from workers.management.spellings.project_api.call import SMALL_BODY_BYTES, ProjectCall, ProjectEndpoint
from workers.management.spellings.project_api.endpoints import PREFIXES, find_endpoint

Operate = Callable[[Actor, str, bytes | Struct, str, str], Awaitable[object]]
"""Runs an operation: who asks, its name, its arguments (as JSON or decoded), the request's id, the client's address."""
_MAX_LARGE = 2
"""Requests with a long body that are answered at a time: each takes several times its length of memory."""


class ProjectApi:
    """Answers requests with the operations of a worker. The ref is read once: it is made of what cannot change."""

    def __init__(self, operate: Operate) -> None:
        self._operate = operate
        self._ref = ""
        self._large = asyncio.Semaphore(_MAX_LARGE)

    def serves(self, path: str) -> bool:
        """Return whether a path belongs to this interface."""
        return path.startswith(PREFIXES)

    async def answer(self, request: Request, actor: Actor, body: RequestBody) -> Response:
        """Answer a request of an actor. Raises: ManagementError, DatabaseError, BodyTooLarge."""
        endpoint, parameters = find_endpoint(request.method, request.path)

        async def operate(name: str, arguments: Struct | None = None, /, **values: object) -> object:
            data = msgspec.json.encode(values) if arguments is None else arguments
            return await self._operate(actor, name, data, request.id, request.client)

        if not self._ref:
            project = await operate("project.describe")
            assert isinstance(project, ProjectDescription)
            self._ref = project.ref
        if parameters.get("ref", self._ref) != self._ref:
            raise not_found(f"project {parameters['ref'][:80]}; this platform has the project {self._ref}")
        async with self._large if endpoint.max_body_bytes > SMALL_BODY_BYTES else contextlib.nullcontext():
            return await endpoint.answer(
                await self._call(request, actor, body, endpoint, parameters, operate)
            )

    async def _call(
        self,
        request: Request,
        actor: Actor,
        body: RequestBody,
        endpoint: ProjectEndpoint,
        parameters: Mapping[str, str],
        operate: Callable[..., Awaitable[object]],
    ) -> ProjectCall:
        return ProjectCall(
            parameters,
            parse_qs(request.query, keep_blank_values=True),
            header(request.headers, "content-type") or "",
            header(request.headers, "accept") or "",
            await body.read(endpoint.max_body_bytes),
            header(request.headers, SERVER_ORIGIN) or "",
            actor,
            self._ref,
            operate,
        )
