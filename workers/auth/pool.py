"""Starts the auth pool of a process: its database login, hashing threads, outbox and signing keys.

The file of signing keys is watched. When it changes, the next request signs with the new key, and the message KEYS_CHANGED
makes the gateways fetch the public keys again; a file that cannot be used leaves the keys as they are.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from broker.codec import encode
from broker.file_watch import FileWatch
from broker.nats.connection import NatsConnection
from broker.observability.observations import SigningKeysRead, SigningKeysRefused
from broker.observability.observe import observe
from broker.processes.key_file import read_key_file
from broker.requests.handler import RequestBody
from broker.subjects import AUTH, KEYS_CHANGED
from schemas.events import KeysChanged
from schemas.http import Request, Response
from schemas.settings.tree import SettingsError
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.build import build_context, key_file, with_keys
from workers.auth.cleanup import sweep_forever
from workers.auth.delivery.email.mail_services import external_url, open_mail_services, template_folders
from workers.auth.http.context import EndpointContext
from workers.auth.worker import AuthWorker
from workers.credentials.password_hashes import Cost
from workers.http_client.client import HttpClient
from workers.resources import Resources

LOGIN = "supabase_auth_admin"
_PUBLISHED = "/.well-known/jwks.json"
_LEAST_CONNECTIONS = 3
"""One transaction that sends an email, one that sends a text message, and one for everything else (`SendingSlots`)."""


class AuthServer:
    """Serves requests with the signing keys that are in the key file now."""

    def __init__(self, context: EndpointContext, connection: NatsConnection, watch: FileWatch | None) -> None:
        self._context = context
        self._worker = AuthWorker(context)
        self._connection = connection
        self._watch = watch

    def answer(self, request: Request, body: RequestBody) -> Awaitable[Response]:
        """Answer one request. The key file is checked before the public keys are returned, so they are never older than the file."""
        if request.path == _PUBLISHED:
            self.reload_keys()
        return self._worker.answer(request, body)

    def reload_keys(self) -> None:
        """Read the key file if it has changed, and notify the gateways. If it cannot be used, the keys stay as they are."""
        if self._watch is None or not self._watch.has_changed():
            return
        try:
            self._context = with_keys(self._context, read_key_file(self._watch.path))
        except SettingsError as error:
            observe(SigningKeysRefused(str(error)))
            return
        self._worker = AuthWorker(self._context)
        observe(SigningKeysRead(len(self._context.public_keys)))
        self._connection.try_publish(KEYS_CHANGED.name, encode(KeysChanged()))


async def serve_pool(resources: Resources) -> None:
    """Answer requests of auth until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings.auth
    argon2 = settings.password.argon2
    hashing = Hashing(Cost(argon2.memory_cost, argon2.time_cost, argon2.parallelism))
    database = await resources.login_as(LOGIN, least_connections=_LEAST_CONNECTIONS)
    outgoing = HttpClient()
    resources.process.on_drain(outgoing.close)
    mail_services = await open_mail_services(resources)
    watch = (
        FileWatch(key_file(settings)) if settings.signing_keys_path and settings.jwt_keys is None else None
    )
    context = build_context(
        settings,
        database,
        hashing,
        outgoing,
        transport=mail_services.transport,
        sms=mail_services.sms,
        sender=mail_services.sender,
        external_url=external_url(resources.settings),
        folders=template_folders(),
    )
    server = AuthServer(context, resources.connection, watch)
    if watch is not None:
        watch.start(server.reload_keys)
        resources.process.on_drain(watch.stop)
    sweeper = asyncio.create_task(sweep_forever(context))
    resources.process.on_drain(lambda: _cancel(sweeper))
    await resources.serve(AUTH, server.answer)


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it has stopped."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
