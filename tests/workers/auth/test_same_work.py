"""Whoever asks about an address causes the same work whether anybody has it or not: the same statements, the same hashes."""

from collections.abc import Callable

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address
from tests.workers.auth.office import Office, with_office
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement, TransactionSpec

Recorded = list[str]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """The text of each statement that is sent, in its order."""
    recorded: Recorded = []
    in_transaction, at_once = Transaction.run, ConnectionPool.run

    async def run(self: Transaction, *sent: Statement) -> list[Rows]:
        recorded.extend(each.text for each in sent)
        return await in_transaction(self, *sent)

    async def run_at_once(
        self: ConnectionPool, work: TransactionSpec, *more: object, **others: object
    ) -> list[Rows]:
        recorded.extend(each.text for each in work.statements)
        return await at_once(self, work, *more, **others)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(Transaction, "run", run)
    monkeypatch.setattr(ConnectionPool, "run", run_at_once)
    return recorded


async def known(auth_pool: AuthPool) -> str:
    return (await auth_pool.sign_up()).email


async def with_a_code(auth_pool: AuthPool) -> str:
    email = await known(auth_pool)
    await auth_pool.ok("POST", "/magiclink", {"email": email})
    assert (
        await auth_pool.value("select count(*) from auth.one_time_tokens where relates_to = $1", email) == 1
    )
    return email


async def without_a_password(auth_pool: AuthPool) -> str:
    email = address()
    sql = "insert into auth.users (id, aud, email) values (gen_random_uuid(), 'authenticated', $1)"
    await auth_pool.admin.execute(sql, email)
    return email


async def unknown(auth_pool: AuthPool) -> str:
    return address()


async def work(
    auth_pool: AuthPool, statements: Recorded, target: str, body: dict[str, object]
) -> tuple[Recorded, int, int]:
    """Send a request that is refused; give its statements, and the hashes that were made and verified."""
    statements.clear()
    before = (auth_pool.hashing.made, auth_pool.hashing.verified)
    response = await auth_pool.send("POST", target, body)
    assert response.status in (400, 403), response
    return list(statements), auth_pool.hashing.made - before[0], auth_pool.hashing.verified - before[1]


async def test_a_wrong_password_is_the_same_work_for_every_address(
    plain: AuthPool, statements: Recorded
) -> None:
    found = []
    for make in (known, without_a_password, unknown):
        body: dict[str, object] = {"email": await make(plain), "password": "not " + PASSWORD}
        found.append(await work(plain, statements, "/token?grant_type=password", body))

    assert found[0] == found[1] == found[2]
    assert (len(found[0][0]) > 2, found[0][1:]) == (True, (0, 1))


@pytest.mark.parametrize("type", ["email", "magiclink", "recovery", "signup"])
async def test_a_wrong_code_is_the_same_work_for_every_address(
    plain: AuthPool, office: Office, statements: Recorded, type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = with_office(plain, office)
    compared: list[str] = []
    monkeypatch.setattr("workers.auth.model.codes.hmac.compare_digest", _counting(compared))
    found = []
    for make in (with_a_code, known, unknown):
        email = await make(plain)
        compared.clear()
        body: dict[str, object] = {"type": type, "email": email, "token": "123456"}
        found.append((await work(plain, statements, "/verify", body), len(compared)))

    assert found[0] == found[1] == found[2]
    assert (len(found[0][0][0]) > 4, found[0][1]) == (True, 1)


def _counting(compared: list[str]) -> Callable[[str, str], bool]:
    def compare(left: str, right: str) -> bool:
        compared.append(left)
        return left == right

    return compare
