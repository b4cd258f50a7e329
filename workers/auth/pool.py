"""The accounts pool of a process: its own login to the database, its threads, its key."""

from broker.subjects import AUTH
from workers.auth.build import build_accounts
from workers.auth.hashing import Hashing
from workers.auth.outgoing import Outgoing
from workers.auth.passwords import Cost
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
    worker = AuthWorker(build_accounts(own, database, hashing, outgoing))
    await resources.serve(AUTH, worker.answer)
