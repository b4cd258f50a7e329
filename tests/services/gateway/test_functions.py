from services.gateway.functions import forwarded_headers
from tests.services.gateway.running_gateway import RunningGateway

CLIENT = [
    ("host", "api.example:8000"),
    ("x-forwarded-host", "evil"),
    ("x-forwarded-proto", "gopher"),
    ("x-own", "1"),
]


def test_what_a_client_says_of_itself_does_not_reach_a_function() -> None:
    told = dict(forwarded_headers(CLIENT, dict(CLIENT), "http", "192.0.2.1", is_trusted=False))

    assert told == {
        "host": "api.example:8000",
        "x-own": "1",
        "x-forwarded-proto": "http",
        "x-forwarded-prefix": "/functions/v1",
        "x-forwarded-host": "api.example:8000",
        "x-forwarded-for": "192.0.2.1",
    }


def test_a_known_proxy_is_believed() -> None:
    sent = {"host": "inner", "x-forwarded-host": "public.example", "x-forwarded-proto": "https"}

    told = dict(forwarded_headers(list(sent.items()), sent, "http", "192.0.2.1", is_trusted=True))

    assert (told["x-forwarded-proto"], told["x-forwarded-host"]) == ("https", "public.example")


async def test_where_nobody_answers_for_functions_they_are_not_said_to_be_well(
    lonely: RunningGateway,
) -> None:
    reply = await lonely.ask("GET", "/functions/v1/_internal/health")

    assert (reply.status, reply.json()["message"]) == (503, "no functions worker is running")
