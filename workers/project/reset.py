"""Make the database anew: the platform's schemas, then roles, migrations and seeds of the project.

It is filled under its own name (workers/project/replace.py: in place), for a project's migrations say
`alter database postgres set ...`. Nothing is waited for until it is on the disk but the last step, which brings all before it
there too. A reset that was killed is taken back by the next start, reset or restore.
"""

from functools import partial

from schemas.settings.tree import Settings
from workers.database.migrate import migrate
from workers.project import history
from workers.project.bring_up import Local, Tell, apply_migrations, apply_roles, apply_seeds
from workers.project.door import Links, open_door
from workers.project.errors import Refused
from workers.project.replace import replace_in_place
from workers.project.vault import fill_vault

_SETTING = "synchronous_commit=off"
"""Setting of the sessions that fill the new database."""


async def reset(
    links: Links,
    settings: Settings,
    local: Local,
    tell: Tell,
    *,
    up_to: str | None = None,
    seeds: bool = True,
) -> None:
    """Make the database anew. Whatever fails, the old one is back as it was.

    Raises: Refused where it cannot be begun; ProjectError, MigrationError and the driver's errors.
    """
    if not links.is_embedded:
        raise Refused(
            "Only the embedded database is reset. Of an outside one, drop and create it by your own means "
            "and start the platform again."
        )
    if up_to is not None and all(migration.version != up_to for migration in local.migrations):
        raise Refused(f"There is no migration {up_to} in the folder.")
    fill = partial(_fill, links, settings, local, tell, up_to=up_to, seeds=seeds)
    await replace_in_place(links.owner, fill, tell)


async def _fill(
    links: Links, settings: Settings, local: Local, tell: Tell, *, up_to: str | None, seeds: bool
) -> None:
    await migrate(_hasty(links.owner), settings)
    tell("The platform's schemas are there")
    async with open_door(_hasty(links.project), tell) as door:
        await history.make_history(door.connection)
        await fill_vault(door, local.secrets, tell, tell)
        if local.roles:
            await apply_roles(door, local.roles, tell)
        wanted = [each for each in local.migrations if up_to is None or each.version <= up_to]
        await apply_migrations(door, wanted, tell, keep_roles=True)
        if seeds:
            await apply_seeds(door, local.seeds, tell)


def _hasty(url: str) -> str:
    """Add the setting to a URL."""
    return f"{url}{'&' if '?' in url else '?'}{_SETTING}"
