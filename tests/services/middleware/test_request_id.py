"""The id of a request: kept if it is sane, else made."""

import re

import pytest

from services.middleware.request_id import request_id

MADE = re.compile(r"[0-9a-f]{16}-[0-9a-f]+")


@pytest.mark.parametrize(
    "sent",
    [
        "7",
        "0191e1c7-7f3f-7c62-9d52-1d0c4ad5b0b1",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "Root=1-67891233-abcdef012345678912345678",
        "a/b.c:d+e_f",
        "x" * 128,
    ],
)
def test_a_sane_id_is_kept(sent: str) -> None:
    assert request_id(sent) == sent


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "",
        " ",
        "a b",
        "x" * 129,
        "a\n",
        "a\r\nx: y",
        "é",
        "\udcff",
        'a"b',
        "{}",
        "a,b",
        "<b>",
        "a;b",
        "*",
        "\x00",
    ],
)
def test_any_other_is_replaced(sent: str | None) -> None:
    assert MADE.fullmatch(request_id(sent))


def test_made_ids_differ_and_are_sane_themselves() -> None:
    made = [request_id(None) for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(request_id(id) == id for id in made)
