"""Functions that return rows of a view without a primary key: the view is reached through them only."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.database.own_server import OwnServer
from tests.workers.graphql.graphql_service import ANON, LOGIN, MEMBER, SERVICE, GraphQLService
from workers.database.connection_pool.pool import ConnectionPool

SCHEMA = """
create table sale (id int primary key, city text not null, total int not null);
insert into sale values (1, 'Rome', 3), (2, 'Oslo', 5), (3, 'Rome', 4);
create view city_total as select city, sum(total)::int as total from sale group by city;
create view unused as select city from sale;
create function totals(lowest int) returns setof city_total stable language sql as
  'select * from city_total where total >= lowest';
create function best() returns city_total stable language sql as 'select * from city_total order by total desc limit 1';
"""
GRANTS = """
grant usage on schema public to graphql_anon, graphql_member, graphql_service;
grant all on all tables in schema public to graphql_service;
"""


@pytest.fixture(scope="module")
async def cities(server: OwnServer) -> AsyncIterator[GraphQLService]:
    roles = login_role(LOGIN, ANON, MEMBER, SERVICE)
    async with fresh_database(server.url, roles, SCHEMA, GRANTS) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        yield GraphQLService.make(pool)
        await pool.close()


async def test_a_function_that_returns_rows_of_the_view_is_a_connection(cities: GraphQLService) -> None:
    data = await cities.data(
        "{ totals(lowest: 1, first: 1, orderBy: [{total: DescNullsLast}], filter: {city: {is: NOT_NULL}}) "
        "{ edges { node { city total } } pageInfo { hasNextPage } } }"
    )

    assert data == {
        "totals": {"edges": [{"node": {"city": "Rome", "total": 7}}], "pageInfo": {"hasNextPage": True}}
    }


async def test_a_function_that_returns_one_row_of_the_view_is_an_object(cities: GraphQLService) -> None:
    assert await cities.data("{ best { city __typename } }") == {
        "best": {"city": "Rome", "__typename": "city_total"}
    }


INTROSPECTION = (
    "{ __schema { queryType { fields { name } } mutationType { fields { name } } types { name } } "
    '__type(name: "city_total") { fields { name } interfaces { name } } }'
)


def names_of_fields(data: Any) -> set[str]:
    return {
        field["name"] for root in ("queryType", "mutationType") for field in data["__schema"][root]["fields"]
    }


async def test_introspection_shows_neither_the_view_nor_its_functions(cities: GraphQLService) -> None:
    data = await cities.data(INTROSPECTION)

    assert names_of_fields(data) & {"totals", "best", "saleCollection"} == {"saleCollection"}
    assert not [
        type_["name"] for type_ in data["__schema"]["types"] if type_["name"].startswith("city_total")
    ]
    assert data["__type"] is None


async def test_with_the_additions_the_view_is_a_type_without_collection_and_node_id(
    cities: GraphQLService,
) -> None:
    data = await GraphQLService.make(cities.pool, additions=True).data(INTROSPECTION)

    names = names_of_fields(data)
    assert {"totals", "best", "saleCollection"} <= names
    assert not {name for name in names if "city_total" in name or "unused" in name}
    assert "unused" not in {type_["name"] for type_ in data["__schema"]["types"]}
    assert data["__type"] == {"fields": [{"name": "city"}, {"name": "total"}], "interfaces": []}
