"""Being a caller of the interface, and being refused."""

import json

import asyncpg

API_ROLES = ["anon", "authenticated", "service_role"]
ME = "00000000-0000-0000-0000-000000000001"
OTHER = "00000000-0000-0000-0000-000000000002"


async def become(connection: asyncpg.Connection, role: str, **claims: object) -> None:
    """Be a caller of the interface for the rest of the transaction."""
    told = json.dumps({"role": role, **claims})
    await connection.execute(
        "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)", role, told
    )


async def refused(connection: asyncpg.Connection, sql: str) -> bool:
    """Tell whether a statement is refused for want of rights; the transaction goes on."""
    try:
        async with connection.transaction():
            await connection.execute(sql)
    except asyncpg.InsufficientPrivilegeError:
        return True
    return False
