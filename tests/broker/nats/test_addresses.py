import pytest

from broker.nats.addresses import ServerAddress, parse_servers
from schemas.keys.secret import Secret


def test_servers_are_parsed_from_a_comma_separated_list() -> None:
    servers = parse_servers("nats://us%40er:pa%2Fss@one:4333, two ,tls://[::1]:5000")

    assert servers == [
        ServerAddress("one", 4333, user="us@er", password=Secret("pa/ss")),
        ServerAddress("two", 4222),
        ServerAddress("::1", 5000, tls=True),
    ]
    assert "pa/ss" not in repr(servers)


@pytest.mark.parametrize(
    "url",
    [
        "",
        " , ",
        "http://host",
        "nats://",
        "nats://user:word@",
        "nats://user:word/word@host",
        "nats://user:word@host:word",
        "nats://user:wo\u2100rd@host",
        "nats://user:wo[rd@host",
    ],
)
def test_a_malformed_url_is_rejected_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="the broker's URL") as caught:
        parse_servers(url)

    text = str(caught.value).replace("password", "")
    assert "word" not in text
    assert "rd@" not in text
