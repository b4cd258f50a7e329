"""Recovery codes of administrators: ten, each replaces the second factor once; stored as HMACs."""

from uuid import UUID

import msgspec

from workers.credentials.recovery_codes import hash_of, new_codes, normal_code
from workers.management.interface.identity.attempts import count_network
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import FactorSecrets
from workers.management.interface.identity.store import SQL, execute
from workers.management.interface.identity.totp_factor import wrong_code

_COUNT, _LENGTH = 10, 16


async def renew(pool: OwnPool, keys: FactorSecrets, administrator_id: str) -> list[str]:
    """Replace the codes of an administrator and return the new ones, which are not shown again."""
    codes = new_codes(_COUNT, _LENGTH)
    hashes = [_hash(code, keys, administrator_id) for code in codes]
    async with pool.transaction() as transaction:
        await transaction.rows(SQL["lock_administrator"], administrator_id)
        await transaction.rows(SQL["forget_recovery_codes"], administrator_id)
        await transaction.rows(SQL["add_recovery_codes"], administrator_id, msgspec.json.encode(hashes))
    return codes


async def use(pool: OwnPool, keys: FactorSecrets, administrator_id: str, code: str, address: str) -> None:
    """Use a code up. A wrong one counts against the network. Raises: ManagementError (401, 429)."""
    hashed = _hash(normal_code(code), keys, administrator_id)
    if not await execute(pool, "use_recovery_code", administrator_id, hashed):
        await count_network(pool, address)
        raise wrong_code()


def _hash(code: str, keys: FactorSecrets, administrator_id: str) -> str:
    return hash_of(code, UUID(administrator_id), keys.sealer.code_key())
