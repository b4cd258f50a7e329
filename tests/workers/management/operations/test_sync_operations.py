"""Operations on shapes: who sees which, what is shown of a caller, and a client whose shape is ended."""

import json
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlencode

import jwt
import pytest

from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator
from tests.workers.sync.sync_pool import ALICE

_TABLE = "sync_shown"


@pytest.fixture(scope="module", autouse=True)
def table(managed: Platform) -> None:
    """A table of which a user sees the own rows."""
    managed.psql(
        f"create table {_TABLE} (id int primary key, owner uuid); alter table {_TABLE} enable row level security;"
        f" create policy p on {_TABLE} for select to authenticated using (owner = auth.uid());"
        f" grant select on {_TABLE} to authenticated; insert into {_TABLE} values (1, '{ALICE}')"
    )
    managed.wait_for_catalog(_TABLE)


def _ask(managed: Platform, token: str, **query: str) -> tuple[int, dict[str, str], list[object]]:
    address = f"{managed.url}/sync/v1/shape?{urlencode({'table': _TABLE, **query})}"
    headers = {"apikey": managed.values["ANON_KEY"], "authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
            return answer.status, dict(answer.headers.items()), json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers.items()), json.loads(error.read())


def test_shapes_are_listed_with_their_waiters_and_ended(
    managed: Platform, reader: RemoteAdministrator, developer: RemoteAdministrator
) -> None:
    claims = {"sub": ALICE, "role": "authenticated", "email": "a@example.com", "exp": int(time.time()) + 600}
    token = jwt.encode(claims, managed.values["JWT_SECRET"])
    _, heads, _ = _ask(managed, token, where="id > $1", **{"params[1]": "0"}, offset="-1")
    query = {"where": "id > $1", "params[1]": "0", "handle": heads["electric-handle"], "live": "true"}
    query["offset"] = heads["electric-offset"]
    _, heads, _ = _ask(managed, token, **{name: value for name, value in query.items() if name != "live"})
    query["offset"] = heads["electric-offset"]
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(_ask(managed, token, **query)[0]))
    waiting.start()
    while not (found := reader.run("sync.shapes", table=f"public.{_TABLE}"))["waiting"]:
        pass  # the request is on its way

    [shape] = found["shapes"]
    assert (found["total"], shape["waiting"], shape["handle"]) == (1, 1, query["handle"])
    assert (shape["role"], shape["shared_by"], shape["claims"]) == ("authenticated", "claims", {"sub": ALICE})
    assert (shape["where"], shape["params"], shape["columns"]) == ("id > $1", ["0"], ["id", "owner"])
    assert shape["snapshot_bytes"] > 0
    assert shape["total_bytes"] > shape["snapshot_bytes"]
    assert 0 <= shape["idle_s"] <= shape["age_s"] < 120
    assert token not in json.dumps(found)
    assert reader.run("sync.shapes", table="another")["shapes"] == []

    assert reader.refused("sync.end_shape", handle=shape["handle"])[0] == 403
    assert developer.refused("sync.end_shape", handle="0-0")[0] == 404
    assert developer.run("sync.end_shape", handle=shape["handle"])["table"] == _TABLE
    waiting.join(30)
    assert answers == [409]
    assert reader.run("sync.shapes", table=_TABLE)["total"] == 0
    status, heads, _ = _ask(managed, token, **query)
    assert (status, heads["electric-handle"] != shape["handle"]) == (409, True)


def test_no_client_reaches_what_operations_ask_the_pool(managed: Platform) -> None:
    headers = {"apikey": managed.values["SERVICE_ROLE_KEY"]}
    for path in (
        "shapes",
        "shapes?handle=x",
        "continue?handle=x&offset=0_0",
        "%73hapes",
        "/shapes",
        "shape/../shapes",
    ):
        for method in ("GET", "DELETE"):
            request = urllib.request.Request(f"{managed.url}/sync/v1/{path}", headers=headers, method=method)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=30)
            refused.value.close()
            assert refused.value.code in (400, 404)
