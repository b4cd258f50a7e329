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


@pytest.mark.parametrize("url", ["", " , ", "http://host", "nats://", "nats://user:word@"])
def test_a_malformed_url_is_rejected_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="the broker's URL") as caught:
        parse_servers(url)

    assert "word" not in str(caught.value).replace("password", "")
