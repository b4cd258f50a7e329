"""Notes of foreign keys on the columns of views: reference page, section 17."""

from tests.workers.database.introspection_fixtures import catalog_of, fresh_database
from tests.workers.database.own_server import OwnServer
from workers.rest.openapi.types import column_property

SCHEMA = """
create schema inside;
create table public.authors (id int primary key, code text unique, email text not null unique);
create table public.books (id int primary key, author_code text references authors (code), author_id int references authors);
create view public.book_list as select id, author_code, author_id from books;
create view public.author_list as select id, code from authors;
create table inside.rooms (id int primary key, code text unique);
create table inside.beds (id int primary key, room_code text references inside.rooms (code), room_id int references inside.rooms);
create view public.rooms as select id, code from inside.rooms;
create view public.beds as select id, room_code, room_id from inside.beds;
"""


async def test_columns_of_views_note_the_key_they_belong_to(server: OwnServer) -> None:
    async with fresh_database(server.url, SCHEMA) as url:
        catalog = await catalog_of(url, ["public"])

    notes = {
        f"{view}.{column}": column_property(
            catalog, catalog.relations["public", view], catalog.relations["public", view].columns[column]
        ).get("description")
        for view, column in (
            ("books", "author_code"),
            ("book_list", "author_code"),
            ("book_list", "author_id"),
            ("beds", "room_code"),
            ("beds", "room_id"),
        )
    }
    assert notes == {
        "books.author_code": _note("authors", "code"),
        "book_list.author_code": _note("authors", "code"),
        "book_list.author_id": _note("authors", "id"),
        "beds.room_code": _note("rooms", "code"),
        "beds.room_id": _note("rooms", "id"),
    }


def _note(table: str, column: str) -> str:
    return f"Note:\nThis is a Foreign Key to `{table}.{column}`.<fk table='{table}' column='{column}'/>"
