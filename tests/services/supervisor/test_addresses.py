import pytest

from schemas.keys.secret import Secret
from schemas.settings.functions import EdgeRuntime
from schemas.settings.reading import load_settings
from schemas.settings.storage import S3Protocol
from schemas.settings.tree import Api, Db, Gateway, Settings
from services.supervisor.addresses import (
    database_url,
    hosts_of,
    libpq_environment,
    s3_values,
    socket_url,
    status_values,
    url_for_role,
)
from services.supervisor.api_keys import keys_of
from services.supervisor.errors import StartRefused
from services.supervisor.ports import Ports

USUAL = Ports(54321, 54322, 54328)


def shown(settings, ports=USUAL):
    return status_values(settings, ports, keys_of(settings.auth))


def test_values_carry_the_names_of_the_official_tool():
    values = shown(Settings())

    assert values["API_URL"] == "http://127.0.0.1:54321"
    assert values["REST_URL"] == "http://127.0.0.1:54321/rest/v1"
    assert values["GRAPHQL_URL"] == "http://127.0.0.1:54321/graphql/v1"
    assert values["FUNCTIONS_URL"] == "http://127.0.0.1:54321/functions/v1"
    assert values["DB_URL"] == "postgresql://postgres:postgres@127.0.0.1:54322/postgres"
    assert {"ANON_KEY", "SERVICE_ROLE_KEY", "PUBLISHABLE_KEY", "SECRET_KEY", "JWT_SECRET"} <= values.keys()


def test_no_printed_name_is_read_as_a_setting():
    printed = shown(Settings(), Ports(1, 2, 3, 4, 5)) | {"STORAGE_S3_URL": "u", "S3_PROTOCOL_REGION": "r"}
    printed |= {"S3_PROTOCOL_ACCESS_KEY_ID": "i", "S3_PROTOCOL_ACCESS_KEY_SECRET": "s"}

    assert load_settings(b"", printed) == load_settings(b"", {})
    assert load_settings(b"", printed)[1] == []


def test_the_s3_endpoint_has_an_address_with_its_pair():
    pair = S3Protocol(access_key_id=Secret("i"), secret_access_key=Secret("s"))

    assert s3_values(pair, {"API_URL": "http://x"}) == {
        "STORAGE_S3_URL": "http://x/storage/v1/s3",
        "S3_PROTOCOL_ACCESS_KEY_ID": "i",
        "S3_PROTOCOL_ACCESS_KEY_SECRET": "s",
        "S3_PROTOCOL_REGION": "us-east-1",
    }
    assert s3_values(S3Protocol(), {"API_URL": "http://x"}) == {}


def test_parts_that_do_not_run_have_no_address():
    values = shown(Settings(), Ports(0, 0, 0))

    assert not {"API_URL", "REST_URL", "FUNCTIONS_URL", "DB_URL", "BROKER_URL"} & values.keys()
    assert "FUNCTIONS_URL" not in shown(Settings(edge_runtime=EdgeRuntime(enabled=False)))


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (Settings(gateway=Gateway(host="0.0.0.0")), "http://127.0.0.1:54321"),
        (Settings(gateway=Gateway(host="192.168.1.5")), "http://192.168.1.5:54321"),
        (Settings(gateway=Gateway(host="::1")), "http://[::1]:54321"),
        (Settings(api=Api(external_url="https://api.example.org/")), "https://api.example.org"),
    ],
)
def test_the_api_is_named_as_it_can_be_reached(settings, url):
    assert shown(settings)["API_URL"] == url


def test_an_outside_database_is_shown_as_it_was_given():
    assert shown(Settings(db=Db(url=Secret("postgresql://u:p@h/d"))))["DB_URL"] == "postgresql://u:p@h/d"


def test_a_password_is_escaped_in_a_url():
    assert database_url("a b", "p@:/?", 1) == "postgresql://a%20b:p%40%3A%2F%3F@127.0.0.1:1/postgres"


def test_a_socket_is_named_in_a_url():
    url = socket_url("me", "p@", 1, "/a b/c")

    assert url == "postgresql://me:p%40@/postgres?host=%2Fa%20b%2Fc&port=1"
    assert hosts_of(url) == ["/a b/c"]


@pytest.mark.parametrize(
    ("url", "changed"),
    [
        ("postgresql://owner:pw@h:5/d", "postgresql://me:no%40@h:5/d"),
        ("postgres://h/d?sslmode=require", "postgres://me:no%40@h/d?sslmode=require"),
        ("postgresql://a@h1:1,h2:2/d", "postgresql://me:no%40@h1:1,h2:2/d"),
        ("postgresql:///d?host=/run&user=x&password=y", "postgresql://me:no%40@/d?host=%2Frun"),
    ],
)
def test_a_database_url_is_given_to_another_role(url, changed):
    assert url_for_role(url, "me", "no@") == changed


@pytest.mark.parametrize("text", ["host=h password=hidden", "postgresql://u:hidden@[", "http://u:hidden@h"])
def test_what_is_no_postgres_url_is_refused_with_its_form_and_without_its_text(text):
    with pytest.raises(StartRefused, match="postgresql://user:password@host:5432/database") as refused:
        url_for_role(text, "me", "no")

    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://u:p@h:5/d", ["h"]),
        ("postgresql://u:p@h1:1,[::1]:2/d", ["h1", "::1"]),
        ("postgresql:///d?host=/run/x", ["/run/x"]),
        ("postgresql:///d", [""]),
    ],
)
def test_hosts_are_found_in_a_database_url(url, hosts):
    assert hosts_of(url) == hosts


def test_a_url_becomes_the_variables_of_postgres_tools():
    assert libpq_environment("postgresql://a:p%40@h:5/d?sslmode=require&application_name=x") == {
        "PGHOST": "h",
        "PGPORT": "5",
        "PGUSER": "a",
        "PGPASSWORD": "p@",
        "PGDATABASE": "d",
        "PGSSLMODE": "require",
        "PGAPPNAME": "x",
    }
