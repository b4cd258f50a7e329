"""The official Python client against a running platform."""

from collections.abc import Iterator

import pytest
from supabase import Client, ClientOptions, create_client

from tests.platform import Platform

# The client warns of arguments that it passes to itself.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.xdist_group("clients")]


@pytest.fixture(scope="module")
def db(client_platform: Platform) -> Iterator[Client]:
    client = create_client(client_platform.url, client_platform.values["SERVICE_ROLE_KEY"])
    yield client
    client.postgrest.session.close()


def test_select_filters_orders_and_ranges(db: Client) -> None:
    answer = (
        db.table("projects")
        .select("id, title:name")
        .gte("id", 1)
        .lte("id", 4)
        .order("name")
        .range(1, 2)
        .execute()
    )

    assert answer.data == [{"id": 3, "title": "Falls"}, {"id": 4, "title": "Lock"}]


def test_related_rows_are_embedded(db: Client) -> None:
    answer = db.table("projects").select("name, clients(name), tasks(title)").eq("id", 1).single().execute()

    assert answer.data["clients"] == {"name": "Nile"}
    assert {task["title"] for task in answer.data["tasks"]} == {"survey", "dredge"}


def test_rows_are_inserted_updated_upserted_and_deleted(db: Client) -> None:
    db.table("projects").insert([{"name": "py one", "budget": 1}, {"name": "py two"}]).execute()
    updated = db.table("projects").update({"budget": 2}).eq("name", "py one").execute()
    merged = db.table("projects").upsert({"name": "py two", "budget": 5}, on_conflict="name").execute()
    deleted = db.table("projects").delete(count="exact").like("name", "py %").execute()

    assert updated.data[0]["budget"] == 2
    assert merged.data[0]["budget"] == 5
    assert deleted.count == 2


def test_single_maybe_single_and_counts(db: Client) -> None:
    none = db.table("projects").select("*").eq("id", -1).maybe_single().execute()
    counted = db.table("projects").select("*", count="exact", head=True).lte("id", 4).execute()

    assert none is None
    assert counted.count == 4


def test_functions_are_called(db: Client) -> None:
    assert db.rpc("add_them", {"a": 2, "b": 3}).execute().data == 5
    rows = db.rpc("projects_of", {"client": 1}).select("name").order("name").execute()

    assert rows.data == [{"name": "Delta"}, {"name": "Source"}]


def test_row_level_security_keeps_two_people_apart(client_platform: Platform, tokens: dict[str, str]) -> None:
    key = client_platform.values["ANON_KEY"]
    people = [
        create_client(
            client_platform.url, key, ClientOptions(headers={"Authorization": f"Bearer {tokens[name]}"})
        )
        for name in ("TOKEN_ADA", "TOKEN_BOB")
    ]
    ada, bob = people
    ada.table("secrets").insert({"owner": "ada", "body": "from python"}).execute()

    seen = [
        one.table("secrets").select("body").eq("body", "from python").execute().data for one in (ada, bob)
    ]
    ada.table("secrets").delete().eq("owner", "ada").eq("body", "from python").execute()
    for one in people:
        one.postgrest.session.close()

    assert seen == [[{"body": "from python"}], []]
