"""Settings that administrators change: sources, checks, rights, versions, history, and what the database shows of them."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from schemas.database_logins import MANAGEMENT, login_passwords
from schemas.errors import Unavailable
from schemas.keys.key_rotation import new_list
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.auth_delivery import Email, EmailTemplateSettings, Template
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Settings, SettingsError
from tests.workers.database.server import Server, migrated_server
from tests.workers.management.conftest import Client
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker
from workers.settings.live_settings import LiveSettings
from workers.settings.sealed_values import StoredSettings, StoredValue

CONFIG = """[api]
max_rows = 77
plan_enabled = true

[auth]
site_url = "https://file.example"
"""
FIXED = {"api.tx_end": "HEADWATER_API_TX_END"}


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Server]:
    """A migrated database of the tests of this module."""
    with migrated_server() as server:
        yield server


@pytest.fixture
async def pools(server: Server) -> AsyncIterator[list[ConnectionPool]]:
    """Connection pools that are closed at the end."""
    opened: list[ConnectionPool] = []
    yield opened
    for pool in opened:
        await pool.close()


@pytest.fixture
async def owner(
    server: Server,
    pools: list[ConnectionPool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Client:
    """An owner of a platform with a file and one variable, on which nothing is stored yet."""
    (tmp_path / "config.toml").write_text(CONFIG)
    monkeypatch.setenv("HEADWATER_CONFIG", str(tmp_path / "config.toml"))
    admin = await asyncpg.connect(server.url())
    await admin.execute("truncate headwater.stored_settings")
    await admin.close()
    worker = await new_worker(server, pools)
    return await Client(worker, server.url()).signed_in(f"{request.node.name[:100]}@owner.test", Right.OWNER)


async def new_worker(
    server: Server, pools: list[ConnectionPool], settings: Settings | None = None
) -> ManagementWorker:
    """Return the worker of another process."""
    settings = settings or Settings()
    passwords = login_passwords(settings)

    def url_of(login: str) -> str:
        return server.url(login, passwords[login].reveal())

    async def open_pool(login: str) -> ConnectionPool:
        pools.append(await ConnectionPool.open(url_of(login), 2))
        return pools[-1]

    live = LiveSettings(SettingsBase(settings, FIXED), await open_pool(MANAGEMENT))
    await live.load()
    database = ManagementDatabase(open_pool, url_of)
    return ManagementWorker.create(database, live.settings, PlatformPools(None), live)


async def entry(client: Client, key: str) -> dict[str, object]:
    """Return one setting as the interface shows it."""
    [shown] = (await client.run("settings.list", prefix=key))["settings"]
    return dict(shown)


async def test_a_setting_is_shown_with_every_source(owner: Client) -> None:
    await owner.run("settings.change", version=0, values={"api.max_rows": 5, "api.extra_search_path": []})

    shown = await entry(owner, "api.max_rows")
    empty = await entry(owner, "api.extra_search_path")

    assert (shown["value"], shown["source"]) == (5, "database")
    assert shown["file"]["value"] == 77  # type: ignore[index]
    assert str(shown["file"]["place"]).endswith("config.toml:2")  # type: ignore[index]
    assert shown["default"]["value"] == 1000  # type: ignore[index]
    assert "Upper bound on rows" in str(shown["documentation"])
    assert shown["type"] == "a whole number"
    assert (empty["is_set"], empty["database"]["is_set"]) == (False, False)  # type: ignore[index]


async def test_every_setting_is_listed_and_none_shows_a_secret(owner: Client) -> None:
    await owner.run(
        "settings.change", version=0, values={"api.app_settings": {"app.settings.key": "hunter2"}}
    )

    listed = await owner.run("settings.list")

    assert len(listed["settings"]) > 500
    text = json.dumps(listed)
    assert "hunter2" not in text
    assert Settings().auth.jwt_secret.reveal() not in text
    assert Settings().auth.secret_key.reveal() not in text
    by_key = {shown["key"]: shown for shown in listed["settings"]}
    assert by_key["auth.jwt_secret"]["is_set"] is True
    assert by_key["db.url"]["is_set"] is False
    assert by_key["db.url"]["is_live"] is False
    assert "restart" in by_key["db.url"]["hint"]


async def test_a_change_applies_to_another_process_and_to_one_that_starts_later(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    running = await new_worker(server, pools)
    applied: list[int | None] = []

    async def note(settings: Settings) -> None:
        applied.append(settings.api.max_rows)

    running.live.on_change(note)
    await owner.run("settings.change", version=0, values={"api.max_rows": 5})
    await running.live.check()
    started = await new_worker(server, pools)

    assert applied == [5]
    assert started.configuration.api.max_rows == 5
    assert started.live.stored.version == 1


async def test_a_pool_that_could_not_apply_a_change_is_asked_again(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    running = await new_worker(server, pools)
    calls: list[str] = []

    async def unlucky(settings: Settings) -> None:
        calls.append(f"unlucky {settings.api.max_rows}")
        if len(calls) == 1:
            raise Unavailable("the broker is away")

    async def lucky(settings: Settings) -> None:
        calls.append(f"lucky {settings.api.max_rows}")

    async def refusing(settings: Settings) -> None:
        calls.append("refusing")
        raise SettingsError("no")

    for callback in (unlucky, lucky, refusing):
        running.live.on_change(callback)
    await owner.run("settings.change", version=0, values={"api.max_rows": 5})
    for _ in range(3):
        await running.live.check()

    assert calls == ["unlucky 5", "lucky 5", "refusing", "unlucky 5"]


async def test_the_second_of_two_administrators_looks_again(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    other = replace(owner, worker=await new_worker(server, pools))
    await owner.run("settings.change", version=0, values={"api.max_rows": 5})

    assert await other.refused("settings.change", version=0, values={"api.max_rows": 6}) == (
        409,
        "changed_meanwhile",
    )
    assert await other.refused("settings.reset", version=0, keys=["api.max_rows"]) == (
        409,
        "changed_meanwhile",
    )
    changed = await other.run("settings.change", version=1, values={"api.max_rows": 6})
    assert changed["version"] == 2


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"api.max_rows": "many"}, 400, "invalid_settings"),
        ({"api.max_rows": -1}, 400, "invalid_settings"),
        ({"api.max_rows": 5, "api.tx_end": "commit"}, 409, "fixed_by_environment"),
        ({"api.max_rows": 5, "gateway.host": "0.0.0.0"}, 409, "needs_restart"),
        ({"api.max_rows": 5, "auth.jwt_secret": "x" * 40}, 409, "needs_restart"),
        ({"api.max_rows": 5, "auth.email.template.invite.content_path": "/etc/passwd"}, 409, "needs_restart"),
        ({"api.max_rows": 5, "api.max_row": 5}, 404, "not_found"),
        ({"api.max_rows": 5, "auth.site_url": "nowhere"}, 400, "invalid_settings"),
        ({"api.max_rows": 5, "auth.minimum_password_length": 100}, 400, "invalid_settings"),
        ({}, 400, "invalid_arguments"),
        ({"a\0": 1}, 400, "invalid_arguments"),
    ],
)
async def test_nothing_of_a_refused_change_is_stored(
    owner: Client, values: dict[str, object], status: int, code: str
) -> None:
    assert await owner.refused("settings.change", version=0, values=values) == (status, code)

    assert (await owner.run("settings.list", prefix="api.max_rows"))["version"] == 0
    assert (await entry(owner, "api.max_rows"))["value"] == 1000


async def test_a_change_of_auth_needs_the_pool_that_checks_it(owner: Client) -> None:
    assert await owner.refused("settings.change", version=0, values={"auth.enable_signup": False}) == (
        503,
        "unavailable",
    )


async def test_who_may_change_what(owner: Client) -> None:
    visitor = replace(owner, cookie="")
    reader = await visitor.signed_in("settings-reader@example.com", Right.READER)
    developer = await visitor.signed_in("settings-developer@example.com", Right.DEVELOPER)
    token = replace(
        visitor, token=(await owner.run("tokens.create", name="look", rights="owner"))["secret"], headers={}
    )

    for client, code in ((reader, "no_right"), (token, "read_only_token")):
        for name, arguments in (
            ("settings.change", {"values": {"api.max_rows": 5}}),
            ("settings.reset", {"keys": ["api.max_rows"]}),
            ("settings.adopt", {}),
        ):
            assert await client.refused(name, version=0, **arguments) == (403, code)
    for key, value in (
        ("auth.email.smtp.host", "127.0.0.1"),
        ("auth.hook.send_email.uri", "http://127.0.0.1:8222"),
        ("auth.external.keycloak.url", "http://169.254.169.254"),
        ("api.anon_role", "postgres"),
    ):
        assert await developer.refused("settings.change", version=0, values={key: value}) == (403, "no_right")
    assert (await developer.run("settings.change", version=0, values={"api.max_rows": 5}))["version"] == 1


async def test_a_site_url_that_templates_are_fetched_from_is_changed_by_owners(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    fetched = Template(url="/templates/invite.html")
    settings = Settings(auth=Auth(email=Email(template=EmailTemplateSettings(invite=fetched))))
    visitor = replace(owner, cookie="", worker=await new_worker(server, pools, settings))
    developer = await visitor.signed_in("site-developer@example.com", Right.DEVELOPER)
    values = {"auth.site_url": "http://169.254.169.254"}

    assert await developer.refused("settings.change", version=0, values=values) == (403, "no_right")
    # Without the pool auth an owner gets as far as its checks.
    as_owner = replace(owner, worker=visitor.worker)
    assert await as_owner.refused("settings.change", version=0, values=values) == (503, "unavailable")


async def test_signing_keys_in_a_file_are_rotated(
    owner: Client, server: Server, pools: list[ConnectionPool], tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(new_list())
    settings = Settings(auth=Auth(signing_keys_path=str(file)))
    client = replace(owner, worker=await new_worker(server, pools, settings))

    async def roles() -> list[str]:
        listed = await client.run("keys.list")
        assert '"d"' not in json.dumps(listed)
        return [key["role"] for key in listed["signing_keys"]]

    assert await roles() == ["signs"]
    seen = {key["id"]: key["role"] for key in (await client.run("keys.list"))["signing_keys"]}
    added = await client.run("keys.rotate", seen=seen)
    assert await client.refused("keys.rotate", seen=seen) == (409, "newer_version")
    assert (added["step"], await roles()) == ("added", ["signs", "standby"])
    moved = await client.run("keys.rotate")
    assert (moved["step"], await roles()) == ("moved", ["verifies", "signs"])
    dropped = await client.run("keys.rotate")
    assert (dropped["step"], await roles()) == ("dropped", ["signs"])
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("[]")
    assert await client.refused("keys.rotate") == (409, "needs_command")
    assert (await client.run("keys.list"))["fault"] != ""


async def test_a_reset_brings_the_former_value_back(owner: Client) -> None:
    await owner.run("settings.change", version=0, values={"api.max_rows": 5, "api.plan_enabled": True})

    changed = await owner.run("settings.reset", version=1, keys=["api.max_rows"])

    assert [(shown["key"], shown["value"]) for shown in changed["settings"]] == [("api.max_rows", 1000)]
    assert (await entry(owner, "api.plan_enabled"))["source"] == "database"


async def test_the_history_says_who_changed_what_without_secrets(owner: Client) -> None:
    await owner.run(
        "settings.change", version=0, values={"api.app_settings": {"a.key": "hunter2"}, "api.max_rows": 5}
    )
    await owner.run("settings.reset", version=1, keys=["api.app_settings"])

    rows = (await owner.run("settings.history", limit=2))["rows"]
    of_key = (await owner.run("settings.history", key="api.max_rows", limit=1))["rows"]

    assert [row["operation"] for row in rows] == ["settings.reset", "settings.change"]
    assert rows[1]["after"] == {"api.app_settings": "(secret)", "api.max_rows": 5}
    assert of_key == [rows[1]]
    assert "hunter2" not in json.dumps(await owner.run("audit.list", limit=20))


async def test_drift_export_and_adoption(owner: Client) -> None:
    await owner.run(
        "settings.change",
        version=0,
        values={"api.max_rows": 77, "api.plan_enabled": False, "api.error_verbosity": "minimal"},
    )

    drift = await owner.run("settings.drift")
    fragment = await owner.run("settings.export")
    await owner.run("settings.adopt", version=1)

    assert drift["equal"] == ["api.max_rows"]
    assert [shown["key"] for shown in drift["different"]] == ["api.error_verbosity", "api.plan_enabled"]
    assert fragment["toml"] == '[api]\nerror_verbosity = "minimal"\nmax_rows = 77\nplan_enabled = false\n'
    assert (await owner.run("settings.drift"))["equal"] == []
    assert (await entry(owner, "api.max_rows"))["database"] is None


async def test_a_stored_value_that_an_upgrade_made_invalid_is_reported_and_can_be_reset(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    live = owner.worker.live
    await owner.run("settings.change", version=0, values={"api.max_rows": 5})
    stored = live.stored
    entries = {**stored.entries, "api.gone": StoredValue(1), "api.schemas": StoredValue("public")}
    gone = StoredSettings(1, entries)
    admin = await asyncpg.connect(server.url())
    await admin.execute("update headwater.stored_settings set sealed = $1", live.sealer.seal(gone))
    await admin.close()

    later = replace(owner, worker=await new_worker(server, pools, Settings()))

    assert later.worker.configuration.api.max_rows == 5
    assert set(later.worker.live.effective.ignored) == {"api.gone", "api.schemas"}
    assert (await entry(later, "api.schemas"))["source"] == "default"
    assert "list of texts" in str((await entry(later, "api.schemas"))["ignored"])
    changed = await later.run("settings.change", version=1, values={"api.max_rows": 6})
    assert changed["version"] == 2


async def test_settings_of_another_key_are_not_written_over(
    owner: Client, server: Server, pools: list[ConnectionPool]
) -> None:
    await owner.run("settings.change", version=0, values={"api.max_rows": 5})
    other_secret = Settings(auth=Auth(jwt_secret=Secret("another secret of some length")))
    later = replace(owner, worker=await new_worker(server, pools, other_secret))

    assert "cannot be decrypted" in (await later.run("settings.list", prefix="api"))["fault"]
    assert later.worker.configuration.api.max_rows == 1000
    assert await later.refused("settings.change", version=0, values={"api.max_rows": 6}) == (
        409,
        "stored_settings_unreadable",
    )
    await later.run("settings.discard")
    assert (await later.run("settings.list", prefix="api"))["fault"] == ""


def replace_auth(settings: Settings, secret: str):
    """Return the settings of auth with another secret."""
    import msgspec

    return msgspec.structs.replace(settings.auth, jwt_secret=Secret(secret))


_ATTACKS = (
    "select * from headwater.stored_settings",
    "update headwater.stored_settings set sealed = ''",
    "delete from headwater.stored_settings",
    "insert into headwater.stored_settings (version, sealed) values (9, '')",
    "truncate headwater.stored_settings",
    "create trigger t before update on headwater.stored_settings execute function now()",
    "alter table headwater.stored_settings disable trigger all",
    "create rule r as on update to headwater.stored_settings do instead nothing",
    "create policy p on headwater.stored_settings",
    "create or replace function headwater.read_stored_settings(out version bigint, out sealed text) returns record"
    " language sql as 'select 1::bigint, null::text'",
    "drop function headwater.read_stored_settings()",
    "grant select on headwater.stored_settings to anon",
)


@pytest.mark.parametrize("sql", _ATTACKS)
async def test_role_postgres_neither_reads_nor_changes_what_is_stored(server: Server, sql: str) -> None:
    connection = await asyncpg.connect(
        server.url("postgres", login_passwords(Settings())["postgres"].reveal())
    )
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(sql)
    finally:
        await connection.close()


async def test_role_postgres_sees_ciphertext_and_readers_nothing(owner: Client) -> None:
    await owner.run("settings.change", version=0, values={"api.app_settings": {"a.key": "hunter2"}})

    with pytest.raises(DatabaseError, match="permission denied"):
        await owner.worker.database.read(
            statement("select stored::text from headwater.stored_settings as stored"), timeout_s=10
        )
    # Role postgres is a member of the workers' login.
    [written] = await owner.worker.database.write(
        statement("select headwater.read_stored_settings()::text"), timeout_s=10
    )

    assert len(written[0][0] or b"") > 100
    assert b"hunter2" not in bytes(written[0][0] or b"")
    assert b"app_settings" not in bytes(written[0][0] or b"")


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role"])
async def test_roles_of_requests_do_not_read_the_row(server: Server, role: str) -> None:
    connection = await asyncpg.connect(server.url())
    try:
        await connection.execute(f"set role {role}")
        for sql in ("select * from headwater.stored_settings", "select headwater.read_stored_settings()"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(sql)
    finally:
        await connection.close()


async def test_keys_are_described_without_their_texts(owner: Client) -> None:
    listed = await owner.run("keys.list")
    shown = await owner.run("keys.show")

    text = json.dumps(listed)
    assert all(key["key"] not in text for key in shown)
    assert {key["name"] for key in shown} == {"publishable", "secret", "anon", "service_role"}
    assert listed["source"] == "secret"
    assert listed["signing_keys"] == [{"id": "auth.jwt_secret", "algorithm": "HS256", "role": "signs"}]
    assert await owner.refused("keys.rotate") == (409, "needs_command")
    assert shown[0]["key"] not in json.dumps(await owner.run("audit.list", operation="keys.show", limit=1))


async def test_a_key_is_created_listed_and_revoked_and_its_text_stored_nowhere(
    owner: Client, server: Server
) -> None:
    made = await owner.run("keys.create", name="worker-1", kind="secret")
    await owner.run("keys.create", name="shop")
    try:
        assert made["key"].startswith("sb_secret_")
        assert await owner.refused("keys.create", name="shop") == (409, "already_exists")
        assert await owner.refused("keys.create", name="Shop 2") == (400, "invalid_arguments")
        assert await owner.refused("keys.create", name="other", kind="anon") == (400, "invalid_arguments")
        listed = await owner.run("keys.created")
        assert [(key["name"], key["kind"]) for key in listed] == [
            ("shop", "publishable"),
            ("worker-1", "secret"),
        ]
        assert listed[1]["hint"] == made["key"][-4:]
        text = json.dumps(
            [listed, await owner.run("audit.list", limit=10), await owner.run("settings.list", prefix="auth")]
        )
        assert made["key"] not in text
    finally:
        await owner.run("keys.revoke", name="worker-1")
        await owner.run("keys.revoke", name="shop")
    assert await owner.refused("keys.revoke", name="shop") == (404, "not_found")
    assert await owner.run("keys.created") == []
