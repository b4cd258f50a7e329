"""What is asked of a running project: each function looks at one side and gives a `Check`."""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import psycopg

from tests.conformance.projects.folder import Copy
from tests.conformance.projects.report import Check, Failure
from tests.platform import Platform

Answer = tuple[int, Mapping[str, str], bytes]

_PATIENCE_S = 60
_SELF_SIGNED = ssl._create_unverified_context()
_MOST_READ = 4 * 1024 * 1024
_RELATIONS = """
select n.nspname, c.relname,
       has_schema_privilege('service_role', n.oid, 'usage') and has_table_privilege('service_role', c.oid, 'select')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = any(%s) and c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
order by 1, 2
"""
_INTROSPECTION = """{ __schema { queryType { name } types { name kind fields { name args { name type { kind } }
  type { name kind ofType { name kind ofType { name kind ofType { name kind } } } } } } } }"""


def migrations(copy: Copy, database: psycopg.Connection) -> Check:
    """Every migration of the folder stands in the history."""
    applied = _column(database, "supabase_migrations.schema_migrations", "version")
    wanted = copy.migrations() if copy.settings.db.migrations.enabled else []
    missing = [Failure(version, "it is not in the history") for version in wanted if version not in applied]
    return Check("migrations", [{"version": version} for version in applied], missing)


def seeds(database: psycopg.Connection) -> Check:
    """The seeds that ran; one that failed ended the start."""
    return Check(
        "seeds", [{"file": path} for path in _column(database, "supabase_migrations.seed_files", "path")]
    )


def rest(copy: Copy, one: Platform, database: psycopg.Connection) -> Check:
    """Every relation of the exposed schemas answers the service key, unless the project took its right away."""
    items: list[dict[str, object]] = []
    failures = []
    if not copy.settings.api.enabled:
        return Check("rest")
    for schema, relation, readable in database.execute(_RELATIONS, [copy.settings.api.schemas]).fetchall():
        name = f"{schema}.{relation}"
        if not readable:
            items.append({"relation": name, "status": None, "rows": None})
            continue
        path = f"/rest/v1/{quote(relation, safe='')}?limit=5"
        status, headers, body = ask(one, path, {"Accept-Profile": schema, "Prefer": "count=exact"})
        rows = headers.get("content-range", "").rpartition("/")[2]
        items.append({"relation": name, "status": status, "rows": int(rows) if rows.isdigit() else None})
        if status not in (200, 206):
            failures.append(Failure(f"GET {path} ({schema})", f"{status} {_text(body)}"))
    return Check("rest", items, failures)


def graphql(copy: Copy, one: Platform) -> Check:
    """Introspection answers, and the first row of every collection with all its columns."""
    if not copy.settings.api.enabled:
        return Check("graphql")
    asked, failures = _ask_graphql(one, _INTROSPECTION, "introspection")
    if asked is None:
        return Check("graphql", [], failures)
    items: list[dict[str, object]] = []
    for name, query in _first_queries(asked["__schema"]):
        data, more = _ask_graphql(one, query, name)
        items.append({"collection": name, "rows": len(data[name]["edges"]) if data else None})
        failures += more
    return Check("graphql", items, failures)


def functions(copy: Copy, one: Platform) -> Check:
    """Every function boots: a call gives any answer but that it did not, or that there is no such function."""
    items: list[dict[str, object]] = []
    failures = []
    for name in copy.functions():
        status, _, body = ask(one, f"/functions/v1/{name}", {"Content-Type": "application/json"}, b"{}")
        items.append({"function": name, "status": status})
        if status == 503 or b"BOOT_ERROR" in body or _is_unknown(status, body):
            failures.append(
                Failure(f"functions/{name}", f"{status} {_text(body)}\n{_printed(one, name)}".strip())
            )
    return Check("functions", items, failures)


def storage(copy: Copy, one: Platform, database: psycopg.Connection) -> Check:
    """The buckets of the settings and of the migrations are there, with the files that belong into them."""
    if not copy.settings.storage.enabled:
        return Check("storage")
    status, _, body = ask(one, "/storage/v1/bucket")
    if status != 200:
        return Check("storage", [], [Failure("GET /storage/v1/bucket", f"{status} {_text(body)}")])
    listed = {each["name"] for each in json.loads(body)}
    objects: dict[str, int] = dict(
        database.execute(
            "select b.name, count(o.id) from storage.buckets b left join storage.objects o on o.bucket_id = b.id group by 1"
        ).fetchall()
    )
    wanted = dict.fromkeys(objects, 0) | copy.files_of_buckets()
    failures = []
    for name, files in wanted.items():
        if name not in listed:
            failures.append(Failure(f"bucket {name}", "it is not there"))
        elif objects[name] < files:
            failures.append(Failure(f"bucket {name}", f"{objects[name]} objects of {files} files"))
    items: list[dict[str, object]] = [
        {"bucket": name, "objects": objects.get(name, 0)} for name in sorted(listed)
    ]
    return Check("storage", items, failures)


def ask(
    one: Platform, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> Answer:
    """Ask with the service key; what cannot be asked at all is status 0. Of an endless answer the beginning is read."""
    key = one.values["SERVICE_ROLE_KEY"]
    own = {"apikey": key, "Authorization": f"Bearer {key}", **(headers or {})}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(one.url + path, body, own), timeout=_PATIENCE_S, context=_SELF_SIGNED
        ) as answer:
            endless = "event-stream" in answer.headers.get("content-type", "")
            return answer.status, _lowered(answer), answer.read1() if endless else answer.read(_MOST_READ)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _lowered(error), error.read(_MOST_READ)
    except (OSError, http.client.HTTPException) as error:
        return 0, {}, f"no answer: {error}".encode()


def _lowered(answer: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def _ask_graphql(one: Platform, query: str, place: str) -> tuple[dict[str, Any] | None, list[Failure]]:
    status, _, body = ask(
        one, "/graphql/v1", {"Content-Type": "application/json"}, json.dumps({"query": query}).encode()
    )
    told = json.loads(body) if status == 200 else {}
    if status != 200 or told.get("errors") or not told.get("data"):
        return None, [Failure(f"graphql {place}", f"{status} {_text(body)}")]
    return told["data"], []


def _first_queries(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give for each collection its name and a query of the first row, with every field that needs no argument."""
    types = {each["name"]: each for each in schema["types"]}
    for field in types[schema["queryType"]["name"]]["fields"]:
        made = types[_named(field["type"])["name"]]
        edges = {each["name"]: each for each in made.get("fields") or ()}.get("edges")
        if edges is None or any(each["type"]["kind"] == "NON_NULL" for each in field["args"]):
            continue
        edge = types[_named(edges["type"])["name"]]
        node = types[next(_named(each["type"])["name"] for each in edge["fields"] if each["name"] == "node")]
        plain = [each["name"] for each in node["fields"] if _is_plain(each)]
        yield (
            field["name"],
            f"{{ {field['name']}(first: 1) {{ edges {{ node {{ {' '.join(plain) or '__typename'} }} }} }} }}",
        )


def _is_plain(field: Mapping[str, Any]) -> bool:
    return not field["args"] and _named(field["type"])["kind"] in ("SCALAR", "ENUM")


def _named(type_: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the type inside of lists and of those that are never null."""
    return _named(type_["ofType"]) if type_.get("ofType") else type_


def _column(database: psycopg.Connection, table: str, column: str) -> list[str]:
    """Give a column of a table, sorted; nothing if the table is not there."""
    (there,) = database.execute("select to_regclass(%s)", [table]).fetchone() or (None,)
    if there is None:
        return []
    return [value for (value,) in database.execute(f"select {column} from {table} order by 1").fetchall()]


def _is_unknown(status: int, body: bytes) -> bool:
    """Tell whether the platform said that it knows no such function."""
    return status == 404 and b"not found" in body.lower() and b"unction" in body


def _printed(one: Platform, function: str) -> str:
    """Give what a function printed that is an error."""
    status, _, body = ask(one, f"/functions/v1/_internal/logs?function={function}&lines=50")
    lines = [json.loads(line) for line in body.splitlines()] if status == 200 else []
    return "\n".join(
        str(each.get("text", each)) for each in lines if each.get("level") in ("error", "warning")
    )


def _text(body: bytes) -> str:
    return body[:600].decode(errors="replace")
