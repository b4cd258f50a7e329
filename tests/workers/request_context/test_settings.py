"""What transactions are told of their request."""

import json

import pytest

from schemas.http import Headers, Request
from workers.database.schema_cache.catalog import Role
from workers.request_context.identity import RequestIdentity
from workers.request_context.settings import pre_request_call, request_settings


def told(headers: Headers) -> dict[str, str]:
    request = Request("1", "POST", "/items", "", headers)
    role = Role("author", settings=(("statement_timeout", "5s"),))
    return dict(
        request_settings(request, RequestIdentity("author", '{"role":"author"}', False), role, '"public"')
    )


def test_role_claims_and_request_are_told() -> None:
    settings = told([])

    assert list(settings)[:3] == ["search_path", "statement_timeout", "role"]
    assert settings["request.jwt.claims"] == '{"role":"author"}'
    assert (settings["request.method"], settings["request.path"]) == ("POST", "/items")
    assert (settings["request.headers"], settings["request.cookies"]) == ("{}", "{}")


def test_headers_of_one_name_are_joined_and_cookies_stand_apart() -> None:
    settings = told([("accept", "a"), ("accept", "b"), ("cookie", "x=1; y=é")])

    assert json.loads(settings["request.headers"]) == {"accept": "a, b"}
    assert json.loads(settings["request.cookies"])["x"] == "1"


def test_an_odd_cookie_stands_beside_the_others_and_values_stay_as_they_are() -> None:
    cookies = told([("cookie", 'theme={"a":1}; plain; =nameless; ; quoted="v=1"')])["request.cookies"]

    assert json.loads(cookies) == {"theme": '{"a":1}', "plain": "", "quoted": '"v=1"'}


@pytest.mark.parametrize(
    ("name", "call"), [("check", 'select "check"()'), ('api.a"b', 'select "api"."a""b"()')]
)
def test_the_function_before_every_request_is_called_by_its_quoted_name(name: str, call: str) -> None:
    assert pre_request_call(name) == call
