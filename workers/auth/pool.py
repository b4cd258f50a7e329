"""The accounts pool of a process: its own login to the database, its threads, its key."""

from broker.subjects import AUTH
from workers.auth.build import build_accounts
from workers.auth.hashing import Hashing
from workers.auth.outgoing import Outgoing
from workers.auth.passwords import Cost
from workers.auth.postroom import external_url, open_postroom, template_folders
from workers.auth.worker import AuthWorker
from workers.resources import Resources

LOGIN = "supabase_auth_admin"


async def serve_pool(resources: Resources) -> None:
    """Answer requests of the accounts until the process drains. Raises: SettingsError, Unavailable."""
    own = resources.settings.auth
    argon2 = own.password.argon2
    hashing = Hashing(Cost(argon2.memory_cost, argon2.time_cost, argon2.parallelism))
    database = await resources.login_as(LOGIN)
    outgoing = Outgoing()
    resources.process.on_drain(outgoing.close)
    postroom = await open_postroom(resources)
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
    worker = AuthWorker(accounts)
    await resources.serve(AUTH, worker.answer)
