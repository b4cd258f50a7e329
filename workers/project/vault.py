"""The secrets of `[db.vault]`: put into the database's vault before the migrations that read them.

A secret is known by its name. One that is there with another value is changed; one that the file does not name stays.
"""

from collections.abc import Callable, Mapping

from schemas.keys.secret import Secret
from workers.project.apply import Door
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "vault.sql")


async def fill_vault(
    door: Door, secrets: Mapping[str, Secret], tell: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Bring the vault into line with the file. A database without a vault is told. Raises: the driver's errors."""
    wanted = {name: secret.reveal() for name, secret in secrets.items() if not _is_unset(secret)}
    if not wanted:
        return
    if not await door.connection.fetchval(_STATEMENTS["exists"]):
        warn(
            "[db.vault]: the database has no vault (extension supabase_vault), and its secrets were left out"
        )
        return
    for name, text in wanted.items():
        if done := await door.connection.fetchval(_STATEMENTS["put"], name, text):
            tell(f"Secret {name} of [db.vault]: {done}")


def _is_unset(secret: Secret) -> bool:
    """Tell whether a secret is still the name of a variable that nobody set; the settings have told it."""
    text = secret.reveal()
    return text.startswith("env(") and text.endswith(")")
