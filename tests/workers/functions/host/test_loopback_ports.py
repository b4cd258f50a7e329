import pytest
from msgspec.structs import replace

from schemas.settings.tree import Db, Pooler, Settings
from workers.functions.host.loopback import own_ports

LOCAL = "postgresql://postgres@127.0.0.1:54322/postgres"


@pytest.mark.parametrize(
    ("is_on", "url", "database"),
    [
        (False, LOCAL, {54322}),
        (True, LOCAL, {54322, 6543}),
        (True, "postgresql://postgres@192.0.2.1:5432/postgres", set()),
    ],
)
def test_functions_with_access_to_the_database_reach_its_pooler_too(
    is_on: bool, url: str, database: set[int]
) -> None:
    settings = replace(Settings(), db=Db(pooler=Pooler(enabled=is_on, port=6543)))

    ports = own_ports(settings, url, {})

    assert ports.database == database
    assert 6543 not in ports.always
