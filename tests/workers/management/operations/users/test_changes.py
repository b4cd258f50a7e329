"""Users of the project: created, changed, banned, deleted, read, and what an audit row says of it."""

import json
import uuid

import pytest

from tests.workers.auth.auth_pool import PASSWORD
from tests.workers.management.conftest import Client
from tests.workers.management.operations.users.conftest import Project


def _email() -> str:
    return f"{uuid.uuid4().hex}@example.org"


async def _last_audit(project: Project, operation: str) -> dict[str, object]:
    row = await project.admin.fetchrow(
        "select row_to_json(a)::text as row from headwater.administrator_audit a where operation = $1"
        " order by id desc limit 1",
        operation,
    )
    return dict(json.loads(row["row"]))


async def _sign_in(project: Project, email: str, password: str) -> int:
    body = {"email": email, "password": password}
    return (await project.auth("POST", "/token?grant_type=password", body))[0]


async def test_a_user_is_created_and_signs_in(project: Project, developer: Client) -> None:
    email = _email()
    created = await developer.run(
        "users.create",
        email=email,
        password=PASSWORD,
        email_confirm=True,
        user_metadata={"full_name": "Ann"},
        app_metadata={"plan": "pro"},
    )

    assert created["user"]["app_metadata"]["plan"] == "pro"
    assert await _sign_in(project, email, PASSWORD) == 200
    row = await _last_audit(project, "users.create")
    assert (row["outcome"], row["after"]["email"]) == ("done", email)  # type: ignore[index]  # JSON
    assert PASSWORD not in json.dumps(row)


async def test_a_user_without_a_password_has_none_until_it_is_set(
    project: Project, developer: Client, reader: Client
) -> None:
    email = _email()
    user_id = (await developer.run("users.create", email=email, email_confirm=True))["user"]["id"]
    before = (await reader.run("users.read", id=user_id))["user"]["has_password"]
    answers = [await _sign_in(project, email, password) for password in ("", PASSWORD)]
    await developer.run("users.set_password", id=user_id, password=PASSWORD)

    assert before is False
    assert answers == [400, 400]
    assert await _sign_in(project, email, PASSWORD) == 200
    assert (await reader.run("users.read", id=user_id))["user"]["has_password"] is True


async def test_errors_of_auth_keep_their_code(project: Project, developer: Client) -> None:
    session = await project.sign_up()
    email = session["user"]["email"]

    assert await developer.refused("users.create", email=email) == (422, "email_exists")
    assert await developer.refused("users.create") == (400, "validation_failed")
    assert await developer.refused("users.create", email=_email(), password="short") == (422, "weak_password")
    assert await developer.refused("users.change", id=str(uuid.uuid4())) == (404, "user_not_found")
    assert await developer.refused("users.change", id="x") == (400, "invalid_arguments")
    assert (await _last_audit(project, "users.change"))["outcome"] == "invalid_arguments"


async def test_a_change_is_done_and_audited_with_before_and_after(
    project: Project, developer: Client
) -> None:
    session = await project.sign_up()
    user_id, email = session["user"]["id"], _email()

    changed = await developer.run(
        "users.change", id=user_id, email=email, user_metadata={"name": "Ann"}, role="authenticated"
    )

    assert (changed["user"]["email"], changed["user"]["user_metadata"]["name"]) == (email, "Ann")
    row = await _last_audit(project, "users.change")
    assert row["before"]["email"] == session["user"]["email"]  # type: ignore[index]  # JSON
    assert row["after"]["email"] == email  # type: ignore[index]  # JSON


async def test_a_password_is_set_after_a_confirmation_and_not_stored(
    project: Project, developer: Client
) -> None:
    session = await project.sign_up()
    password = "another good password"

    await developer.run("users.set_password", id=session["user"]["id"], password=password)

    assert await _sign_in(project, session["user"]["email"], password) == 200
    assert password not in json.dumps(await _last_audit(project, "users.set_password"))
    await project.admin.execute(
        "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour'"
    )
    for name in ("users.set_password", "users.delete", "users.sign_in_as", "users.generate_link"):
        assert await developer.refused(name, id=session["user"]["id"]) == (403, "needs_confirmation"), name


async def test_a_rejection_by_a_trigger_of_the_project_passes_with_its_words(
    project: Project, developer: Client
) -> None:
    user_id = (await project.sign_up())["user"]["id"]
    await project.admin.execute(f"""
        create function public.stay() returns trigger language plpgsql as $$
          begin raise exception 'users of this project stay' using hint = 'Archive them.'; end $$;
        create trigger stay before delete on auth.users for each row
          when (old.id = '{user_id}') execute function public.stay();
    """)

    response = await developer.send("POST", "/operations/users.delete", {"id": user_id})
    await project.admin.execute("drop trigger stay on auth.users; drop function public.stay()")

    assert response.status == 400
    assert json.loads(response.body) == {
        "code": "P0001",
        "message": "users of this project stay",
        "hint": "Archive them.",
    }


async def test_a_ban_shuts_a_user_out_until_it_ends(project: Project, developer: Client) -> None:
    session = await project.sign_up()
    user_id, email = session["user"]["id"], session["user"]["email"]

    banned = await developer.run("users.ban", id=user_id, duration="24h30m")
    during = await _sign_in(project, email, PASSWORD)
    await developer.run("users.unban", id=user_id)
    after = await _sign_in(project, email, PASSWORD)

    assert banned["user"]["banned_until"]
    assert (during, after) == (400, 200)
    assert await developer.refused("users.ban", id=user_id, duration="soon") == (400, "validation_failed")
    assert await developer.refused("users.ban", id=user_id, duration="") == (400, "validation_failed")


async def test_deleting_says_what_hangs_on_a_user(
    project: Project, developer: Client, reader: Client
) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]
    schema = f'people "{uuid.uuid4().hex[:8]}'
    quoted = '"' + schema.replace('"', '""') + '"'
    await project.admin.execute(f"""
        create schema {quoted};
        create table {quoted}.notes (id int, "the owner" uuid references auth.users on delete cascade);
        create table {quoted}.orders (id int, buyer uuid references auth.users on delete restrict);
        create index on {quoted}.orders (buyer);
        insert into {quoted}.notes select n, '{user_id}' from generate_series(1, 3) n;
        insert into {quoted}.orders values (1, '{user_id}');
    """)

    rows = {
        row["table"]: row
        for row in await reader.run("users.references", id=user_id)
        if row["schema"] == schema
    }
    all_rows = {
        (row["schema"], row["table"]): row for row in await reader.run("users.references", id=user_id)
    }
    restricted = await developer.refused("users.delete", id=user_id)
    await project.admin.execute(f"delete from {quoted}.orders")
    await developer.run("users.delete", id=user_id)

    notes, orders = rows["notes"], rows["orders"]
    assert (notes["action"], notes["rows"], notes["columns"], notes["has_index"]) == (
        "delete", 3, ["the owner"], False,
    )  # fmt: skip
    assert (orders["action"], orders["rows"], orders["has_index"]) == ("prevent", 1, True)
    assert all_rows["auth", "identities"]["rows"] == 1
    assert restricted[0] in (400, 409, 422)
    assert await project.admin.fetchval(f"select count(*) from {quoted}.notes") == 0
    assert await reader.refused("users.read", id=user_id) == (404, "not_found")
    assert (await _last_audit(project, "users.delete"))["before"]["email"] == session["user"]["email"]  # type: ignore[index]  # JSON
    await project.admin.execute(f"drop schema {quoted} cascade")


async def test_a_soft_deletion_leaves_the_row_without_personal_data(
    project: Project, developer: Client, reader: Client
) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]

    await developer.run("users.delete", id=user_id, softly=True)
    listed = await reader.run("users.search", id=user_id, state="deleted")

    assert [row["id"] for row in listed["rows"]] == [user_id]
    assert session["user"]["email"] not in json.dumps(listed)
    assert (await reader.run("users.search", id=user_id))["rows"] == []


async def test_a_user_is_read_with_all_that_is_stored(
    project: Project, developer: Client, reader: Client
) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]
    await developer.run("users.ban", id=user_id, duration="1h")

    details = await reader.run("users.read", id=user_id)

    user = details["user"]
    assert (user["email"], user["has_password"]) == (session["user"]["email"], True)
    assert [identity["provider"] for identity in user["identities"]] == ["email"]
    assert [row["ip"] for row in user["sessions"]] == ["192.0.2.9"]
    assert [entry["action"] for entry in details["audit"]] == ["user_modified", "login", "user_signedup"]
    text = json.dumps(details)
    stored = await project.admin.fetchval(
        "select encrypted_password from auth.users where id = $1", uuid.UUID(user_id)
    )
    assert stored not in text
    assert "refresh_token" not in text


@pytest.mark.parametrize("operation", ["users.read", "users.references", "users.delete", "users.sign_out"])
async def test_a_malformed_id_is_an_error_of_the_arguments(developer: Client, operation: str) -> None:
    for wrong in ("", "x", "../settings", str(uuid.uuid4()) + "/sessions"):
        assert await developer.refused(operation, id=wrong) == (400, "invalid_arguments"), wrong
