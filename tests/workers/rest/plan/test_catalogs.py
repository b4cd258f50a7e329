"""The hand-made catalog is what introspection finds in the schema that it describes."""

from pathlib import Path

from tests.workers.database.introspection_fixtures import catalog_of, fresh_database
from tests.workers.database.own_server import OwnServer
from tests.workers.rest.plan.catalogs import CATALOG, FUNCTIONS

SCHEMA = Path(__file__).with_name("schema.sql").read_text()


async def test_the_hand_made_catalog_is_the_schema_s_own(server: OwnServer) -> None:
    async with fresh_database(server.url, SCHEMA) as url:
        found = await catalog_of(url, ["public"])

    assert found.relations == CATALOG.relations
    assert found.relationships == CATALOG.relationships
    assert found.computed_fields == CATALOG.computed_fields
    assert found.representations == CATALOG.representations
    assert set(CATALOG.media_handlers) <= set(found.media_handlers)
    names = {(each.schema, each.name) for each in FUNCTIONS}
    assert {name: found.functions[name] for name in names} == CATALOG.functions
