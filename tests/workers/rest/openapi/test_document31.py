"""The OpenAPI 3.1 document, as the worker answers it on a real database."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

from schemas.caller import AnonymousCaller, Caller
from schemas.http import header
from schemas.settings.tree import Api
from tests.workers.database.introspection_fixtures import as_role, catalog_of, fresh_database, login_role
from tests.workers.rest.rest_pool import LOGIN, OPTIONS, SERVICE, RestPool, user
from workers.database.connection_pool.pool import ConnectionPool
from workers.rest.state import RestState

SCHEMA = Path(__file__).with_name("document31.sql").read_text()
ASKED = "application/vnd.oai.openapi+json;version=3.1"
GIVEN = "application/vnd.oai.openapi+json;version=3.1; charset=utf-8"
SWAGGER = "application/openapi+json; charset=utf-8"
Document = dict[str, Any]


@pytest.fixture(scope="module")
async def atlas(server) -> AsyncIterator[RestPool]:
    """A worker that exposes `atlas`, and `annex` behind it."""
    options = {**OPTIONS, "schemas": ["atlas"]}
    roles = login_role(LOGIN, "rest_anon", "rest_user", "rest_service")
    async with fresh_database(server.url, roles, SCHEMA) as url:
        catalog = await catalog_of(as_role(url, LOGIN), ["atlas", "annex"])
        pool = await ConnectionPool.open(as_role(url, LOGIN), 2)
        api = Api(**options)  # type: ignore[arg-type]  # names and values of the settings
        yield RestPool(pool, RestState(api, catalog), api)
        await pool.close()


async def described(
    atlas: RestPool, caller: Caller = SERVICE, headers: dict[str, str] | None = None, **options: object
) -> Document:
    """Ask for the document and hold it against the specification."""
    chosen = atlas.with_options(**{"schemas": ["atlas"], **options})
    answer = await chosen.send("GET", "/", caller=caller, **{"accept": ASKED, **(headers or {})})
    assert (answer.status, header(answer.headers, "content-type")) == (200, GIVEN), answer
    document: Document = json.loads(answer.body)
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    assert [str(each) for each in OpenAPIV31SpecValidator(document).iter_errors()] == []
    return document


@pytest.fixture(scope="module")
async def document(atlas: RestPool) -> Document:
    """All of `atlas`, as a trusted server sees it."""
    return await described(atlas)


@pytest.fixture(scope="module")
def schemas(document: Document) -> Document:
    return dict(document["components"]["schemas"])


# --- who gets it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/vnd.oai.openapi+json;version=3.1", GIVEN),
        ("application/vnd.oai.openapi+json; version=3.1", GIVEN),
        ("application/vnd.oai.openapi+json ; version=3.1 ; q=0.9", GIVEN),
        ('Application/vnd.OAI.openapi+json;Version="3.1"', GIVEN),
        ("application/openapi+json;version=3.1", GIVEN),
        ("application/openapi+json; version=3.1", GIVEN),
        ("image/png, application/openapi+json; version=3.1", GIVEN),
        ("application/json;q=0.5, application/openapi+json;version=3.1", GIVEN),
        ("application/json, application/openapi+json;version=3.1", SWAGGER),
        ("application/openapi+json", SWAGGER),
        ("application/openapi+json;version=3.0", SWAGGER),
        ("application/json", SWAGGER),
        ("*/*", SWAGGER),
        ("", SWAGGER),
    ],
)
async def test_the_document_is_for_those_who_ask(atlas: RestPool, accept: str, expected: str) -> None:
    answer = await atlas.with_options(schemas=["atlas"]).send("GET", "/", accept=accept)

    assert (answer.status, header(answer.headers, "content-type")) == (200, expected)
    assert json.loads(answer.body).get("openapi") == ("3.1.0" if expected == GIVEN else None)


@pytest.mark.parametrize(
    ("target", "accept"),
    [
        ("/", "application/vnd.oai.openapi+json"),
        ("/", "application/vnd.oai.openapi+json;version=3.2"),
        ("/rivers", ASKED),
        ("/rivers", "application/openapi+json;version=3.1"),
    ],
)
async def test_other_versions_and_other_paths_have_no_document(
    atlas: RestPool, target: str, accept: str
) -> None:
    answer = await atlas.with_options(schemas=["atlas"]).send("GET", target, accept=accept)

    assert answer.status == 406


async def test_head_gives_the_headers_alone(atlas: RestPool) -> None:
    answer = await atlas.with_options(schemas=["atlas"]).send("HEAD", "/", accept=ASKED)

    assert (answer.status, header(answer.headers, "content-type"), answer.body) == (200, GIVEN, b"")


async def test_a_disabled_root_gives_nothing(atlas: RestPool) -> None:
    answer = await atlas.with_options(schemas=["atlas"], openapi_mode="disabled").send(
        "GET", "/", accept=ASKED
    )

    assert (answer.status, json.loads(answer.body)["code"]) == (404, "RESTERR126")


async def test_a_role_sees_what_it_may_use(atlas: RestPool) -> None:
    anonymous = await described(atlas, AnonymousCaller())
    signed_in = await described(atlas, user("ada"))
    everything = await described(atlas, AnonymousCaller(), openapi_mode="ignore-privileges")

    relations = {path for path in anonymous["paths"] if not path.startswith("/rpc/")}
    assert relations == {"/", "/rivers"}
    assert "/hidden" not in signed_in["paths"]
    assert "/every_type" in signed_in["paths"]
    assert {"/rpc/add_them", "/rpc/not_for_all", "/hidden"} & set(signed_in["paths"]) == {"/rpc/add_them"}
    assert {"/hidden", "/rpc/not_for_all", "/every_type"} <= set(everything["paths"])


async def test_only_the_schema_asked_for_is_described(atlas: RestPool) -> None:
    both = ["atlas", "annex"]
    first = await described(atlas, schemas=both)
    second = await described(atlas, schemas=both, headers={"accept_profile": "annex"})
    missing = await described(atlas, schemas=["atlas", "not_there"], headers={"accept_profile": "not_there"})

    assert {"/notes", "/rivers"} & set(first["paths"]) == {"/rivers"}
    assert {"/notes", "/rivers"} & set(second["paths"]) == {"/notes"}
    assert list(missing["paths"]) == ["/"]
    profile = second["components"]["parameters"]["acceptProfile"]
    assert (profile["schema"]["enum"], profile["required"]) == (["annex"], True)
    assert first["components"]["parameters"]["contentProfile"]["required"] is False
    assert {"$ref": "#/components/parameters/acceptProfile"} in second["paths"]["/notes"]["get"]["parameters"]
    assert {"$ref": "#/components/parameters/contentProfile"} in second["paths"]["/notes"]["post"][
        "parameters"
    ]


async def test_a_schema_that_is_not_there_is_described_as_empty_in_swagger_too(atlas: RestPool) -> None:
    answer = await atlas.with_options(schemas=["not_there"]).send("GET", "/")

    assert (answer.status, list(json.loads(answer.body)["paths"])) == (200, ["/"])


async def test_the_address_is_where_the_document_is_unless_a_proxy_is_named(
    atlas: RestPool, document: Document
) -> None:
    proxied = await described(atlas, openapi_server_proxy_uri="https://api.example.org/rest/v1")

    assert document["servers"] == [{"url": "."}]
    assert proxied["servers"] == [{"url": "https://api.example.org/rest/v1"}]


async def test_security_is_described_when_it_is_wanted(atlas: RestPool, document: Document) -> None:
    secured = await described(atlas, openapi_security_active=True)

    assert "security" not in document
    assert "securitySchemes" not in document["components"]
    assert secured["security"] == [{"apikey": []}, {"apikey": [], "bearer": []}]
    schemes = secured["components"]["securitySchemes"]
    assert (schemes["apikey"]["in"], schemes["apikey"]["name"]) == ("header", "apikey")
    assert (schemes["bearer"]["type"], schemes["bearer"]["scheme"]) == ("http", "bearer")


async def test_titles_come_from_comments(atlas: RestPool, document: Document) -> None:
    plain = await described(atlas, schemas=["annex"])

    assert document["info"] == {
        "title": "Atlas",
        "description": "Rivers and what lies on them.",
        "version": "1",
    }
    assert plain["info"]["title"] == "Headwater REST API"
    read = document["paths"]["/rivers"]["get"]
    assert (read["summary"], read["description"], read["tags"]) == ("Rivers", "One row a river.", ["rivers"])
    called = document["paths"]["/rpc/add_them"]["get"]
    assert (called["summary"], called["tags"]) == ("Adds", ["(rpc) add_them"])


# --- types ---------------------------------------------------------------------------------------------------

SPOT = {"$ref": "#/components/schemas/type.atlas.spot"}
STRETCH = {"$ref": "#/components/schemas/type.atlas.stretch"}
MOOD = {"type": "string", "format": "atlas.mood", "enum": ["calm", "wild"]}


def text(format: str) -> Document:
    return {"type": ["string", "null"], "format": format}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("a_smallint", {"type": "integer", "format": "int16", "minimum": -32768, "maximum": 32767}),
        ("an_int", {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}),
        ("a_bigint", {"type": ["integer", "null"], "format": "int64"}),
        ("a_real", {"type": ["number", "null"], "format": "float"}),
        ("a_double", {"type": ["number", "null"], "format": "double"}),
        ("a_numeric", {"type": ["number", "null"], "format": "numeric"}),
        ("a_bool", {"type": "boolean"}),
        ("a_text", {"type": ["string", "null"]}),
        ("a_varchar", {"type": ["string", "null"], "maxLength": 7}),
        ("a_char", {"type": ["string", "null"], "maxLength": 3}),
        ("a_bit", {**text("bit"), "maxLength": 4}),
        ("a_uuid", text("uuid")),
        ("a_date", text("date")),
        ("a_timestamp", text("date-time-local")),
        ("a_timestamptz", text("date-time")),
        ("a_time", text("time-local")),
        ("a_timetz", text("time with time zone")),
        ("an_interval", text("interval")),
        ("a_json", {}),
        ("a_jsonb", {}),
        ("a_bytea", text("bytea")),
        ("an_inet", text("inet")),
        ("a_range", text("int4range")),
        ("a_tsvector", text("tsvector")),
        ("an_oid", text("oid")),
        ("ints", {"type": ["array", "null"], "items": {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}}),
        ("texts", {"type": "array", "items": {"type": "string"}}),
        ("a_mood", {"type": ["string", "null"], "format": "atlas.mood", "enum": ["calm", "wild", None]}),
        ("a_fixed_mood", MOOD),
        ("moods", {"type": ["array", "null"], "items": MOOD}),
        ("a_spot", {"anyOf": [SPOT, {"type": "null"}]}),
        ("a_fixed_spot", SPOT),
        ("a_stretch", {"anyOf": [STRETCH, {"type": "null"}]}),
        ("stretches", {"type": ["array", "null"], "items": STRETCH}),
        ("a_code", {"type": "string", "format": "atlas.code", "maxLength": 5, "description": "Five signs"}),
        ("a_short_code", {"type": ["string", "null"], "format": "atlas.code", "maxLength": 5, "description": "Five signs"}),
        ("some_moods", {"type": ["array", "null"], "format": "atlas.moods", "items": MOOD}),
        ("a_colour", {"format": "atlas.colour"}),
        ("an_hstore", {"format": "annex.hstore"}),
        ("a_river", {"anyOf": [{"$ref": "#/components/schemas/rivers"}, {"type": "null"}]}),
    ],
)  # fmt: skip
def test_a_column_has_the_schema_of_its_type(schemas: Document, column: str, expected: Document) -> None:
    assert schemas["every_type"]["properties"][column] == expected


def test_composite_types_are_components(schemas: Document) -> None:
    assert schemas["type.atlas.stretch"]["properties"] == {
        "start": {"anyOf": [SPOT, {"type": "null"}]},
        "stops": {"type": ["array", "null"], "items": SPOT},
        "moods": {"type": ["array", "null"], "items": MOOD},
    }
    named = schemas["type.atlas.spot"]["properties"]["named"]
    assert named == {"type": ["string", "null"], "description": "What people call it"}


@pytest.mark.parametrize(
    ("column", "default", "expression"),
    [
        ("literal", "it's", None),
        ("number", 7, None),
        ("below", -7, None),
        ("price", 1.5, None),
        ("yes", True, None),
        ("document", {"a": [1]}, None),
        ("no_items", [], None),
        ("no_more", [], None),
        ("two_items", None, "'{1,2}'::integer[]"),
        ("feeling", "calm", None),
        ("day", None, "CURRENT_DATE"),
        ("moment", None, "now()"),
        ("joined", None, "('a'::text || 'b'::text)"),
        ("nothing", None, None),
        ("counted", None, "nextval('atlas.every_default_counted_seq'::regclass)"),
        ("always", None, None),
        ("by_default", None, "nextval('atlas.every_default_by_default_seq')"),
        ("doubled", None, None),
    ],
)
def test_a_default_is_a_value_or_shown_as_an_expression(
    schemas: Document, column: str, default: object, expression: str | None
) -> None:
    shown = schemas["every_default"]["properties"][column]

    assert (shown.get("default"), shown.get("x-default-expression")) == (default, expression)


def test_keys_are_noted_as_in_swagger(schemas: Document) -> None:
    rivers, bridges = schemas["rivers"]["properties"], schemas["bridges"]["properties"]

    assert rivers["id"]["description"] == "Note:\nThis is a Primary Key.<pk/>"
    assert rivers["name"]["description"] == "As on the map"
    assert bridges["river"]["description"] == (
        "Note:\nThis is a Primary Key.<pk/>\n"
        "This is a Foreign Key to `rivers.id`.<fk table='rivers' column='id'/>"
    )


# --- reads and writes ----------------------------------------------------------------------------------------


def test_a_row_an_insert_and_an_update_differ_in_what_must_be_there(schemas: Document) -> None:
    row, insert, update = (schemas[f"bridges{kind}"] for kind in ("", ".insert", ".update"))

    assert row["required"] == ["id", "river", "name"]
    assert row["properties"]["id"]["readOnly"] is True
    assert insert == {
        "allOf": [{"$ref": "#/components/schemas/bridges.update"}],
        "required": ["river", "name"],
    }
    assert list(update["properties"]) == ["river", "name", "built"]
    assert "required" not in update


FULL = {
    "a_smallint": -32768, "an_int": 2147483647, "a_bigint": 2**62, "a_real": 0.5, "a_double": 1e300, "a_numeric": 12.34,
    "a_bool": True, "a_text": "", "a_varchar": "seven", "a_char": "a", "a_bit": "0101",
    "a_uuid": "8f3c1f0e-63a5-4d6c-9f6b-0d9b5b1d8a11", "a_date": "2024-02-29", "a_timestamp": "2024-02-29T12:00:00",
    "a_timestamptz": "2024-02-29T12:00:00.5+02:00", "a_time": "23:59:59", "a_timetz": "23:59:59+02", "an_interval": "1 day",
    "a_json": None, "a_jsonb": [1, {"a": None}], "a_bytea": "\\x00ff", "an_inet": "10.0.0.0/8", "a_range": "[1,5)",
    "a_tsvector": "'a' 'b'", "an_oid": "7", "ints": [1, -2], "texts": ["a", ""], "a_mood": "calm", "a_fixed_mood": "wild",
    "moods": ["calm", "wild"], "a_spot": {"x": 1.5, "y": None, "named": "here"}, "a_fixed_spot": {"x": 0, "y": 0, "named": ""},
    "a_stretch": {"start": {"x": 1, "y": 2, "named": None}, "stops": [], "moods": ["calm"]}, "stretches": [],
    "a_code": "abc", "a_short_code": "abcde", "some_moods": ["wild"], "a_colour": 255, "an_hstore": None,
    "a_river": {"id": 1, "name": "Nile", "parent": None},
}  # fmt: skip
BARE = {
    "a_smallint": 1, "an_int": 2, "a_bool": False, "a_jsonb": "text", "texts": [], "a_fixed_mood": "calm",
    "a_fixed_spot": {"x": 1, "y": 1, "named": "x"}, "a_code": "x", "a_short_code": "y",
}  # fmt: skip


@pytest.mark.parametrize("row", [FULL, BARE], ids=["full", "bare"])
async def test_what_fits_the_insert_is_stored_and_what_is_read_fits_the_row(
    atlas: RestPool, document: Document, row: Document
) -> None:
    def validator(schema: str) -> Draft202012Validator:
        root = {**document, "$ref": f"#/components/schemas/{schema}"}
        return Draft202012Validator(root, format_checker=FormatChecker(["date", "date-time", "uuid"]))

    validator("every_type.insert").validate(row)
    trying = atlas.with_options(schemas=["atlas"], tx_end="rollback")

    answer = await trying.send("POST", "/every_type", row, prefer="return=representation")

    assert answer.status == 201, answer
    stored = json.loads(answer.body)[0]
    validator("every_type").validate(stored)
    assert stored["a_colour"] in (None, "#ff")
    assert not validator("every_type").is_valid({**stored, "a_fixed_mood": "sad"})


def test_methods_are_those_that_the_relation_takes(document: Document) -> None:
    methods = {path: set(item) for path, item in document["paths"].items()}

    assert methods["/rivers"] == {"get", "post", "patch", "put", "delete"}
    assert methods["/every_default"] == {"get", "post", "patch", "delete"}
    assert methods["/long_names"] == {"get"}
    assert methods["/river_names"] == {"get", "post", "patch", "put", "delete"}
    assert methods["/"] == {"get", "post"}


def test_a_read_tells_its_parameters_and_answers(document: Document) -> None:
    read = document["paths"]["/rivers"]["get"]
    names = [each["$ref"].rpartition("/")[2] for each in read["parameters"]]

    assert names == [
        "rowFilter.rivers.id", "rowFilter.rivers.name", "rowFilter.rivers.parent", "select", "order", "limit", "offset",
        "and", "or", "range", "rangeUnit", "preferCount", "distinct", "having", "cursor", "ifNoneMatch",
    ]  # fmt: skip
    for status in ("200", "206"):
        answer = read["responses"][status]
        assert answer["headers"]["Content-Range"] == {"$ref": "#/components/headers/Content-Range"}
        assert answer["content"]["application/json"]["schema"] == {
            "type": "array",
            "items": {"$ref": "#/components/schemas/rivers"},
        }
    assert {"400", "401", "403", "404", "406", "416", "default"} <= set(read["responses"])


def test_writes_take_one_row_or_many(document: Document) -> None:
    path = document["paths"]["/rivers"]
    one = {"$ref": "#/components/schemas/rivers.insert"}
    inserted = path["post"]["requestBody"]["content"]

    assert inserted["application/json"]["schema"] == {"anyOf": [one, {"type": "array", "items": one}]}
    assert set(inserted) == {"application/json", "application/x-www-form-urlencoded", "text/csv"}
    changed = path["patch"]["requestBody"]["content"]["application/json"]["schema"]
    assert changed["anyOf"][0] == {"$ref": "#/components/schemas/rivers.update"}
    assert {"200", "201", "409"} <= set(path["post"]["responses"])
    assert {"200", "204", "405", "412"} <= set(path["delete"]["responses"])
    keys = [each for each in path["put"]["parameters"] if each.get("required")]
    assert [(each["name"], each["schema"]["pattern"]) for each in keys] == [("id", "^eq\\.")]


def test_what_the_interface_adds_is_described(document: Document) -> None:
    def named(path: str, method: str) -> set[str]:
        parameters = document["paths"][path][method]["parameters"]
        return {each["$ref"].rpartition("/")[2] for each in parameters if "$ref" in each}

    added = {"distinct", "having", "cursor", "nested", "key", "ifMatch", "ifNoneMatch"}
    operation = document["paths"]["/"]["post"]["requestBody"]["content"]["application/json"]["schema"]

    assert named("/rivers", "get") & added == {"distinct", "having", "cursor", "ifNoneMatch"}
    assert named("/rivers", "post") & added == {"nested"}
    assert named("/rivers", "patch") & added == {"key", "ifMatch"}
    assert named("/rivers", "put") & added == {"ifMatch", "ifNoneMatch"}
    assert {"ETag", "Link"} <= set(document["paths"]["/rivers"]["get"]["responses"]["200"]["headers"])
    assert (operation["maxItems"], operation["items"]["required"]) == (100, ["method", "path"])


def test_a_column_stands_before_a_parameter_of_its_name(document: Document) -> None:
    parameters = document["components"]["parameters"]
    for method in ("get", "patch"):
        shown = [
            parameters[each["$ref"].rpartition("/")[2]]
            for each in document["paths"]["/named_alike"][method]["parameters"]
        ]
        names = [(each["in"], each["name"]) for each in shown]

        assert len(names) == len(set(names))
        assert {("query", "key"), ("query", "cursor")} <= set(names) or method == "patch"


async def test_errors_have_their_schema(atlas: RestPool, document: Document) -> None:
    minimal = await described(atlas, error_verbosity="minimal")

    for name, response in document["components"]["responses"].items():
        if name.startswith("refused."):
            shown = response["content"]["application/json"]["schema"]
            assert shown == {"$ref": "#/components/schemas/error.body"}, name
    error = document["components"]["schemas"]["error.body"]
    assert error["required"] == ["code", "message", "details", "hint"]
    assert list(error["properties"]) == [*error["required"], "current", "operation"]
    assert minimal["components"]["schemas"]["error.body"]["required"] == ["code", "message"]


def test_odd_names_are_spelled_as_a_url_takes_them(document: Document) -> None:
    path = document["paths"]["/odd%20%7Bname%7D%2F%C3%A9"]
    key = "odd-20--7b-name-7d--2f--e9-"
    parameters = document["components"]["parameters"]
    filters = {
        parameters[each["$ref"].rpartition("/")[2]]["name"]
        for each in path["get"]["parameters"]
        if f"rowFilter.{key}." in each["$ref"]
    }

    assert filters == {"id", '"a.b"', '"say \\"hi\\""', "x-y"}
    assert list(document["components"]["schemas"][key]["properties"]) == [
        "id",
        "a.b",
        'say "hi"',
        "order",
        "or",
        "x-y",
    ]
    ids = [item["operationId"] for path in document["paths"].values() for item in path.values()]
    assert len(ids) == len(set(ids))


async def test_the_filters_described_are_understood(atlas: RestPool, document: Document) -> None:
    parameters = document["components"]["parameters"]
    names = [each["name"] for key, each in parameters.items() if key.startswith("rowFilter.odd")]
    asked = "&".join(f"{name}=is.null" for name in names)

    answer = await atlas.with_options(schemas=["atlas"]).send("GET", f"/odd%20%7Bname%7D%2F%C3%A9?{asked}")

    assert answer.status == 200, answer


# --- functions -----------------------------------------------------------------------------------------------


def arguments_of(document: Document, name: str) -> Document:
    return {
        each["name"]: each
        for each in document["paths"][f"/rpc/{name}"]["get"]["parameters"]
        if "name" in each
    }


def result_of(document: Document, name: str) -> object:
    return document["paths"][f"/rpc/{name}"]["post"]["responses"]["200"]["content"]["application/json"][
        "schema"
    ]


def body_of(document: Document, name: str) -> Document:
    return dict(document["paths"][f"/rpc/{name}"]["post"]["requestBody"]["content"])


def test_functions_that_change_nothing_are_read_as_well(document: Document) -> None:
    methods = {path: set(item) for path, item in document["paths"].items() if path.startswith("/rpc/")}

    assert methods["/rpc/add_them"] == {"get", "post"}
    assert methods["/rpc/nothing"] == {"post"}
    assert set(document["paths"]["/rpc/nothing"]["post"]["responses"]) >= {"204", "400"}


def test_arguments_are_parameters_of_a_read(document: Document) -> None:
    added, near = arguments_of(document, "add_them"), arguments_of(document, "near")
    words = arguments_of(document, "joined")["words"]

    assert [(name, each["required"]) for name, each in added.items()] == [("a", True), ("b", False)]
    assert added["a"]["schema"]["type"] == "integer"
    assert near["doc"]["content"] == {"application/json": {"schema": {}}}
    assert near["spot"]["schema"] == {"type": "string", "format": "atlas.spot"}
    assert near["moods"]["schema"] == {"type": "string", "format": "atlas.mood[]"}
    assert (words["explode"], words["schema"]["type"], words["required"]) == (True, "array", True)


def test_arguments_are_the_body_of_a_call(document: Document) -> None:
    added = body_of(document, "add_them")["application/json"]["schema"]
    twice = body_of(document, "twice")["application/json"]["schema"]

    assert (list(added["properties"]), added["required"]) == (["a", "b"], ["a"])
    assert [each["required"] for each in twice["anyOf"]] == [["a"], ["a", "b"]]
    assert body_of(document, "whole") == {"application/json": {"schema": {}}}
    assert list(body_of(document, "bytes")) == ["application/octet-stream"]
    assert arguments_of(document, "twice")["a"]["required"] is True
    assert arguments_of(document, "twice")["b"]["required"] is False


def test_results_have_the_schema_of_what_is_returned(document: Document) -> None:
    rivers = {"$ref": "#/components/schemas/rivers"}
    pairs = result_of(document, "pairs")

    assert result_of(document, "longest") == {"type": "array", "items": rivers}
    assert result_of(document, "near") == {"anyOf": [SPOT, {"type": "null"}]}
    assert result_of(document, "numbers")["items"]["type"] == ["integer", "null"]  # type: ignore[index]  # JSON
    assert pairs["items"]["properties"]["right"]["enum"] == ["calm", "wild", None]  # type: ignore[index]  # JSON
    assert list(pairs["items"]["properties"]) == ["left_one", "right"]  # type: ignore[index]  # JSON
    assert result_of(document, "anything") == {"type": ["object", "null"]}
    assert result_of(document, "whole") == {}
    page = document["paths"]["/rpc/page"]["get"]["responses"]["200"]["content"]
    assert page["text/html"] == {"schema": {"type": "string"}}


def test_overloads_that_return_rows_are_described_beside_one_that_returns_a_value(document: Document) -> None:
    call = document["paths"]["/rpc/mixed"]["get"]
    row = call["responses"]["200"]["content"]["application/vnd.pgrst.object+json"]["schema"]
    filters = [each["$ref"] for each in call["parameters"] if "rowFilter" in each.get("$ref", "")]

    assert row == {"anyOf": [{"$ref": "#/components/schemas/rivers"}, SPOT]}
    assert [each.rpartition(".")[2] for each in filters] == ["id", "name", "parent"]


def test_an_argument_stands_before_a_filter_of_its_name(document: Document) -> None:
    parameters = document["paths"]["/rpc/longest"]["get"]["parameters"]
    filters = [each["$ref"] for each in parameters if "rowFilter" in each.get("$ref", "")]

    assert [each.rpartition(".")[2] for each in filters] == ["id", "parent"]
