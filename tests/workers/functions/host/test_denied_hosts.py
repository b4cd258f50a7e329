import pytest

from schemas.keys.secret import Secret
from schemas.settings.functions import EdgeRuntime
from schemas.settings.tree import Broker, Db, Settings
from workers.functions.host.denied_hosts import METADATA, find_denied_hosts, remove_allowed


def test_broker_and_database_are_denied_under_all_their_names() -> None:
    settings = Settings(
        broker=Broker(url=Secret("nats://pool:word@localhost:4222,nats://192.0.2.7:4333")),
        db=Db(url=Secret("postgresql://a:b@[2001:db8::1]:6000/x")),
    )

    found = find_denied_hosts(settings, "postgresql://postgres:secret@127.0.0.1/postgres")

    assert {"127.0.0.0/8:4222", "[::1]:4222", "192.0.2.7:4333"} <= set(found.always)
    assert set(METADATA) <= set(found.always)
    assert set(found.database) == {"127.0.0.0/8:5432", "[::1]:5432", "[2001:db8::1]:6000"}
    assert "secret" not in repr(found)


@pytest.mark.parametrize("opened", ["169.254.169.254", "169.254.169.0/24"])
def test_an_allowed_address_is_cut_out_of_a_denied_network(opened: str) -> None:
    left = remove_allowed(METADATA, [opened, "[fd00:ec2::254]", "metadata.google.internal"])

    assert "169.254.0.0/16" not in left
    assert "169.254.170.0/23" in left
    assert "metadata.google.internal" not in left
    assert "[fd00:ec2::254]" not in left
    assert "[fd00:ec2::23]" in left


def test_settings_can_allow_metadata_but_never_the_broker() -> None:
    settings = Settings(
        broker=Broker(url=Secret("nats://192.0.2.7:4222")),
        edge_runtime=EdgeRuntime(allow_inner=["100.100.100.200", "192.0.2.7:4222"]),
    )

    found = find_denied_hosts(settings, "").always

    assert "192.0.2.7:4222" in found
    assert "100.100.100.200" not in found
