"""The vault: what is kept, who reads it, and what without the key is not read."""

import base64
import hmac
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.schemas.extensions.conftest import PASSWORD, one_row
from tests.workers.database.server import Server, connected, fresh_database
from workers.database.migrations.migrate import migrate

SECRET = "s3cret of the tests: ü€ " * 20


@pytest.fixture(scope="module")
async def name(bootstrapped: Server) -> AsyncIterator[str]:
    async with fresh_database(bootstrapped) as one:
        async with connected(bootstrapped.url(database=one)) as admin:
            await admin.execute(f"alter database {one} owner to postgres")
        yield one


@pytest.fixture(scope="module")
async def connection(bootstrapped: Server, name: str) -> AsyncIterator[asyncpg.Connection]:
    async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
        yield one


@pytest.fixture
async def project(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres, in a transaction that is rolled back."""
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()


@pytest.fixture
def key_file(bootstrapped: Server) -> Iterator[Path]:
    """The file of the key, which is put back after the test."""
    path = bootstrapped.folder / "vault.key"
    before = path.read_text()
    yield path
    path.write_text(before)


async def reading(project: asyncpg.Connection, id: UUID) -> str:
    return str(
        await project.fetchval("select decrypted_secret from vault.decrypted_secrets where id = $1", id)
    )


async def test_it_stands_ready_and_belongs_to_postgres(project: asyncpg.Connection):
    await project.execute('create extension if not exists "supabase_vault" with schema "vault"')

    assert await one_row(
        project,
        "select extversion, extowner::regrole::text, extnamespace::regnamespace::text from pg_extension"
        " where extname = 'supabase_vault'",
    ) == ("0.3.2", "postgres", "vault")


@pytest.mark.parametrize(
    "secret", ["", "a", "x" * 31, "x" * 32, "x" * 64, "x" * 65, SECRET, "v1.AAAA", "ü" * 3000]
)
async def test_what_is_kept_is_read_again(project: asyncpg.Connection, secret: str):
    id = await project.fetchval("select vault.create_secret($1, 'its name', 'what for')", secret)

    row = await one_row(
        project, "select name, description, decrypted_secret from vault.decrypted_secrets where id = $1", id
    )

    assert row == ("its name", "what for", secret)


async def test_what_is_stored_tells_nothing_of_it(project: asyncpg.Connection):
    first = await project.fetchval("select vault.create_secret($1)", SECRET)
    await project.fetchval("select vault.create_secret($1)", SECRET)

    rows = await project.fetch("select secret, nonce from vault.secrets")

    assert all("s3cret" not in row["secret"] and row["secret"].startswith("v1.") for row in rows)
    assert len({row["secret"][:80] for row in rows}) == len({row["nonce"] for row in rows}) == 2
    assert await reading(project, first) == SECRET


async def test_what_is_written_into_the_table_is_sealed_too(project: asyncpg.Connection):
    id = await project.fetchval("insert into vault.secrets (name, secret) values ('n', 'plain') returning id")
    assert "plain" not in await project.fetchval("select secret from vault.secrets where id = $1", id)
    assert await reading(project, id) == "plain"

    await project.execute("set local session_replication_role = replica")
    await project.execute("update vault.secrets set secret = 'plainer' where id = $1", id)

    assert "plain" not in await project.fetchval("select secret from vault.secrets where id = $1", id)
    assert await reading(project, id) == "plainer"


async def test_an_update_changes_what_it_names(project: asyncpg.Connection):
    id = await project.fetchval("select vault.create_secret('old', 'name', 'description')")
    sealed = await project.fetchval("select secret from vault.secrets where id = $1", id)

    await project.execute("select vault.update_secret($1, new_name := 'renamed')", id)
    assert await one_row(
        project,
        "select name, description, secret, updated_at > created_at from vault.secrets where id = $1",
        id,
    ) == ("renamed", "description", sealed, True)

    await project.execute("select vault.update_secret($1, 'new', new_description := 'other')", id)
    assert await one_row(
        project, "select name, description, decrypted_secret from vault.decrypted_secrets where id = $1", id
    ) == ("renamed", "other", "new")


async def test_a_name_is_there_once(project: asyncpg.Connection):
    await project.execute("select vault.create_secret('a', 'same')")

    with pytest.raises(asyncpg.UniqueViolationError):
        await project.execute("select vault.create_secret('b', 'same')")


async def test_no_secret_is_no_secret(project: asyncpg.Connection):
    with pytest.raises(asyncpg.NotNullViolationError):
        await project.execute("select vault.create_secret(null)")


@pytest.mark.parametrize(
    "change",
    [
        "secret = 'v1.' || translate(substr(other.secret, 4), 'AB', 'BA')",
        "secret = left(kept.secret, -4) || 'AAA='",
        "nonce = other.nonce",
        "secret = other.secret, nonce = other.nonce",
        "secret = 'v1.' || repeat('A', 43)",
    ],
)
async def test_a_changed_or_moved_value_does_not_open(bootstrapped: Server, name: str, change: str):
    async with connected(bootstrapped.url(database=name)) as admin:
        transaction = admin.transaction()
        await transaction.start()
        await admin.execute("select vault.create_secret('one', 'kept'), vault.create_secret('two', 'other')")
        await admin.execute("alter table vault.secrets disable trigger headwater_seal")
        await admin.execute(
            f"update vault.secrets kept set {change} from vault.secrets other"
            " where kept.name = 'kept' and other.name = 'other'"
        )

        with pytest.raises(
            asyncpg.DataCorruptedError,
            match="cannot be decrypted: it was changed, or sealed with another key",
        ):
            await admin.fetch("select decrypted_secret from vault.decrypted_secrets where name = 'kept'")
        await transaction.rollback()


async def test_the_id_of_a_secret_stays(project: asyncpg.Connection):
    await project.execute("select vault.create_secret('a')")

    with pytest.raises(asyncpg.FeatureNotSupportedError, match="the id of a secret cannot be changed"):
        await project.execute("update vault.secrets set id = gen_random_uuid()")


async def test_without_the_key_nothing_is_sealed_or_opened(project: asyncpg.Connection, key_file: Path):
    await project.execute("select vault.create_secret('a')")
    key_file.write_text("")

    for statement in (
        "select vault.create_secret('b')",
        "select decrypted_secret from vault.decrypted_secrets",
    ):
        with pytest.raises(asyncpg.InvalidParameterValueError, match="the vault has no key") as caught:
            async with project.transaction():
                await project.fetch(statement)
        assert "Bring back the file vault.key" in caught.value.hint


async def test_a_new_key_seals_and_old_ones_open(project: asyncpg.Connection, key_file: Path):
    old = key_file.read_text()
    first = await project.fetchval("select vault.create_secret('under the old key')")
    third = await project.fetchval("select vault.create_secret('sealed anew')")
    key_file.write_text("0f" * 32 + "\n" + old)
    second = await project.fetchval("select vault.create_secret('under the new key')")
    assert (await reading(project, first), await reading(project, second)) == (
        "under the old key",
        "under the new key",
    )

    await project.execute(
        "update vault.secrets v set secret = d.decrypted_secret from vault.decrypted_secrets d"
        f" where d.id = v.id and v.id = '{third}'"
    )
    key_file.write_text("0f" * 32)
    assert await reading(project, third) == "sealed anew"
    key_file.write_text(old)

    assert await reading(project, first) == "under the old key"
    with pytest.raises(asyncpg.DataCorruptedError):
        await reading(project, second)


@pytest.mark.parametrize("role", ["anon", "authenticated", "supabase_read_only_user"])
@pytest.mark.parametrize(
    "statement",
    [
        "select decrypted_secret from vault.decrypted_secrets",
        "select vault.create_secret('a')",
        "select vault._headwater_keys()",
        "select vault._headwater_open(secret, id, nonce) from vault.secrets",
    ],
)
async def test_other_roles_read_nothing(bootstrapped: Server, name: str, role: str, statement: str):
    async with connected(bootstrapped.url(database=name)) as admin:
        transaction = admin.transaction()
        await transaction.start()
        await admin.execute(f"select vault.create_secret('a'); set local role {role}")

        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.fetch(statement)
        await transaction.rollback()


async def test_neither_postgres_nor_the_service_reads_the_key(project: asyncpg.Connection):
    await project.execute("grant service_role to postgres")
    for role in ("postgres", "service_role"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with project.transaction():
                await project.execute(f"set local role {role}; select vault._headwater_keys()")


async def test_the_service_keeps_and_reads_secrets(project: asyncpg.Connection):
    await project.execute("set local role service_role")

    id = await project.fetchval("select vault.create_secret('of the service')")

    assert await reading(project, id) == "of the service"


async def test_a_function_of_the_project_reads_for_others(project: asyncpg.Connection):
    await project.execute(
        """
        select vault.create_secret('shared', 'for the function');
        create function public.shared() returns text language sql security definer set search_path = ''
        as $$ select decrypted_secret from vault.decrypted_secrets where name = 'for the function' $$;
        set local role anon;
        """
    )

    assert await project.fetchval("select public.shared()") == "shared"


async def test_a_dump_holds_no_plain_text_and_opens_under_the_same_key(
    bootstrapped: Server, name: str, connection: asyncpg.Connection
):
    id = await connection.fetchval("select vault.create_secret('dumped')")
    rows = await connection.fetch("select * from vault.secrets where id = $1", id)
    async with fresh_database(bootstrapped) as other, connected(bootstrapped.url(database=other)) as restored:
        # What `copy` of a dump does: rows as they were stored, through the trigger.
        await restored.copy_records_to_table(
            "secrets", schema_name="vault", records=[tuple(row) for row in rows], columns=list(rows[0].keys())
        )
        found = await restored.fetchrow("select * from vault.decrypted_secrets where id = $1", id)

    assert found is not None
    assert (found["secret"], found["decrypted_secret"]) == (rows[0]["secret"], "dumped")
    assert "dumped" not in str(dict(rows[0]))


async def test_it_is_commented_dropped_and_made_anew(project: asyncpg.Connection):
    await project.execute("comment on extension supabase_vault is 'kept'")
    await project.execute("drop extension supabase_vault")
    assert await project.fetchval("select to_regclass('vault.secrets')") is None

    await project.execute("create extension supabase_vault with schema vault")

    assert await project.fetchval("select count(*) from vault.secrets") == 0


async def test_another_schema_is_refused_as_with_the_original(project: asyncpg.Connection):
    await project.execute("drop extension supabase_vault")

    with pytest.raises(asyncpg.FeatureNotSupportedError, match='must be installed in schema "vault"'):
        await project.execute("create extension supabase_vault with schema extensions")


async def test_the_form_of_a_stored_secret_is_what_its_script_says(
    project: asyncpg.Connection, key_file: Path
):
    key_file.write_text("00" * 31 + "01\n")
    id = await project.fetchval("select vault.create_secret($1)", SECRET)
    stored, nonce = await one_row(project, "select secret, nonce from vault.secrets where id = $1", id)
    sealed = base64.b64decode(stored.removeprefix("v1."))
    ciphertext, tag = sealed[:-32], sealed[-32:]

    def key(purpose: str) -> bytes:
        told = b"headwater vault 1 " + purpose.encode() + b" " + id.bytes
        return hmac.digest(bytes(31) + b"\x01", told, "sha512")

    blocks = range(len(ciphertext) // 64 + 1)
    stream = b"".join(
        hmac.digest(key("encrypt"), nonce + block.to_bytes(4, "big"), "sha512") for block in blocks
    )

    assert hmac.digest(key("authenticate"), nonce + ciphertext, "sha512")[:32] == tag
    assert bytes(a ^ b for a, b in zip(ciphertext, stream, strict=False)).decode() == SECRET


# Tables of the project that refer to the vault

_OWNED = """
select c.relname::text as name from pg_class c join pg_roles r on r.oid = c.relowner
where c.relnamespace = 'vault'::regnamespace and c.relkind in ('r', 'v') and r.rolsuper
union all
select p.proname::text from pg_proc p join pg_roles r on r.oid = p.proowner
where p.pronamespace = 'vault'::regnamespace and r.rolsuper and p.prosecdef
  and p.prosrc ~* '(secrets|new[.])'
"""
_CAST = """
create sequence public.struck;
create type public.key as (id uuid);
create function public.as_uuid(given public.key) returns uuid language plpgsql as $$
begin
  if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
    perform pg_catalog.nextval('public.struck');
  end if;
  return given.id;
end $$;
create cast (public.key as uuid) with function public.as_uuid(public.key) as implicit;
create table public.linked (id public.key references vault.secrets (id));
insert into public.linked select row(vault.create_secret('linked'))::public.key;
"""


async def test_a_table_refers_to_secrets_and_the_owner_of_the_project_empties_them(
    project: asyncpg.Connection,
):
    id = await project.fetchval("select vault.create_secret('referred')")
    await project.execute("create table public.v (id uuid references vault.secrets (id) on delete cascade)")
    await project.execute("insert into public.v values ($1)", id)

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        async with project.transaction():
            await project.execute("insert into public.v values (gen_random_uuid())")
    await project.execute("truncate vault.secrets cascade")

    assert await project.fetchval("select count(*) from public.v") == 0


async def test_a_reference_runs_no_cast_of_the_project_as_the_superuser(project: asyncpg.Connection):
    """The check of a foreign key runs as the owner of the table that it refers to."""
    await project.execute(_CAST)

    assert await project.fetchval("select count(*) from public.linked") == 1
    assert await project.fetchval("select is_called from public.struck") is False


async def test_nothing_that_touches_the_table_runs_as_the_superuser(project: asyncpg.Connection):
    assert [row["name"] for row in await project.fetch(_OWNED)] == []


async def test_an_earlier_vault_is_updated_by_the_next_start(bootstrapped: Server):
    async with fresh_database(bootstrapped) as one, connected(bootstrapped.url(database=one)) as admin:
        await admin.execute(
            "drop extension supabase_vault; create extension supabase_vault with schema vault version '0.3.1'"
        )
        id = await admin.fetchval("select vault.create_secret('of before')")
        await migrate(bootstrapped.url(database=one), Settings())

        found = await admin.fetchval("select decrypted_secret from vault.decrypted_secrets where id = $1", id)
        version = await admin.fetchval("select extversion from pg_extension where extname = 'supabase_vault'")
        owners = [row["name"] for row in await admin.fetch(_OWNED)]

    assert (found, version, owners) == ("of before", "0.3.2", [])
