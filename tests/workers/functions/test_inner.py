import pytest

from schemas.keys.secret import Secret
from schemas.settings.functions import EdgeRuntime
from schemas.settings.tree import Broker, Db, Settings
from workers.functions.inner import METADATA, inner_places, kept_closed


def test_the_broker_and_the_database_are_closed_under_all_their_names() -> None:
    settings = Settings(
        broker=Broker(url=Secret("nats://pool:word@localhost:4222,nats://192.0.2.7:4333")),
        db=Db(url=Secret("postgresql://a:b@[2001:db8::1]:6000/x")),
    )

    found = inner_places(settings, "postgresql://postgres:secret@127.0.0.1/postgres")

    assert {"127.0.0.0/8:4222", "[::1]:4222", "192.0.2.7:4333"} <= set(found.always)
    assert set(METADATA) <= set(found.always)
    assert set(found.database) == {"127.0.0.0/8:5432", "[::1]:5432", "[2001:db8::1]:6000"}
    assert "secret" not in repr(found)


@pytest.mark.parametrize("opened", ["169.254.169.254", "169.254.169.0/24"])
def test_a_place_may_be_opened_and_all_around_it_stays_closed(opened: str) -> None:
    left = kept_closed(METADATA, [opened, "[fd00:ec2::254]", "metadata.google.internal"])

    assert "169.254.0.0/16" not in left
    assert "169.254.170.0/23" in left
    assert "metadata.google.internal" not in left
    assert "[fd00:ec2::254]" not in left
    assert "[fd00:ec2::23]" in left


def test_the_settings_open_metadata_and_never_the_broker() -> None:
    settings = Settings(
        broker=Broker(url=Secret("nats://192.0.2.7:4222")),
        edge_runtime=EdgeRuntime(allow_inner=["100.100.100.200", "192.0.2.7:4222"]),
    )

    found = inner_places(settings, "").always

    assert "192.0.2.7:4222" in found
    assert "100.100.100.200" not in found
