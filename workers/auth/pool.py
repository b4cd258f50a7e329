"""The accounts pool of a process: its own login to the database, its threads, its key."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from broker.codec import encode
from broker.file_watch import FileWatch
from broker.nats.connection import Connection
from broker.observability.observations import SigningKeysRead, SigningKeysRefused
from broker.observability.observe import observe
from broker.requests.serve import RequestBody
from broker.subjects import AUTH, KEYS_CHANGED
from schemas.events import KeysChanged
from schemas.http import Request, Response
from schemas.keys.key_file import read_key_file
from schemas.settings.tree import SettingsError
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.accounts.passwords.passwords import Cost
from workers.auth.build import build_accounts, key_file, with_keys
from workers.auth.cleanup import sweep_forever
from workers.auth.context import Accounts
from workers.auth.delivery.email.postroom import external_url, open_postroom, template_folders
from workers.auth.worker import AuthWorker
from workers.http_client.client import Outgoing
from workers.resources import Resources

LOGIN = "supabase_auth_admin"
_PUBLISHED = "/.well-known/jwks.json"


class Keyholder:
    """The worker with the signing keys of now: a file that has changed holds from the next request on."""

    def __init__(self, accounts: Accounts, connection: Connection, watch: FileWatch | None) -> None:
        self._accounts = accounts
        self._worker = AuthWorker(accounts)
        self._connection = connection
        self._watch = watch

    def answer(self, request: Request, body: RequestBody) -> Awaitable[Response]:
        """Answer one request. Who asks for the public keys gets those that are in the file now."""
        if request.path == _PUBLISHED:
            self.look()
        return self._worker.answer(request, body)

    def look(self) -> None:
        """Read the file if it has changed, and tell the edges. If it cannot be used, the keys stay as they are."""
        if self._watch is None or not self._watch.has_changed():
            return
        try:
            self._accounts = with_keys(self._accounts, read_key_file(self._watch.path))
        except SettingsError as error:
            observe(SigningKeysRefused(str(error)))
            return
        self._worker = AuthWorker(self._accounts)
        observe(SigningKeysRead(len(self._accounts.public_keys)))
        self._connection.tell(KEYS_CHANGED.name, encode(KeysChanged()))


async def serve_pool(resources: Resources) -> None:
    """Answer requests of the accounts until the process drains. Raises: SettingsError, Unavailable."""
    own = resources.settings.auth
    argon2 = own.password.argon2
    hashing = Hashing(Cost(argon2.memory_cost, argon2.time_cost, argon2.parallelism))
    database = await resources.login_as(LOGIN)
    outgoing = Outgoing()
    resources.process.on_drain(outgoing.close)
    postroom = await open_postroom(resources)
    watch = FileWatch(key_file(own)) if own.signing_keys_path and own.jwt_keys is None else None
    accounts = build_accounts(
        own,
        database,
        hashing,
        outgoing,
        post=postroom.post,
        sms=postroom.sms,
        sender=postroom.sender,
        external_url=external_url(resources.settings),
        folders=template_folders(),
    )
    holder = Keyholder(accounts, resources.connection, watch)
    if watch is not None:
        watch.start(holder.look)
        resources.process.on_drain(watch.stop)
    sweeping = asyncio.create_task(sweep_forever(accounts))
    resources.process.on_drain(lambda: _ended(sweeping))
    await resources.serve(AUTH, holder.answer)


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
