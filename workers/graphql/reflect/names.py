"""Derive GraphQL names from names in the database. Pure. Source: docs/reference/graphql.md, sections 3 and 4."""

import re

_VALID = re.compile(r"[_A-Za-z][_A-Za-z0-9]*")


def is_valid(name: str) -> bool:
    """Return whether a name is valid in GraphQL."""
    return _VALID.fullmatch(name) is not None


def type_name(sql: str, *, inflect: bool) -> str:
    """Return the base name of a type: `blog_post` becomes `BlogPost` if names are inflected."""
    if not inflect:
        return sql
    before = " "
    letters = []
    for letter in sql:
        letters.append(letter if before.isalnum() else letter.upper())
        before = letter
    return "".join(letters).replace("_", "")


def field_name(sql: str, *, inflect: bool) -> str:
    """Return the name of a column's field: `created_at` becomes `createdAt` if names are inflected."""
    return lower_first(type_name(sql, inflect=True)) if inflect else sql


def function_name(sql: str, *, inflect: bool) -> str:
    """Return the name of a function's field; one leading `_` is dropped."""
    return lower_first(field_name(sql.removeprefix("_"), inflect=inflect))


def argument_name(sql: str, *, inflect: bool) -> str:
    """Return the name of a function's argument."""
    return lower_first(field_name(sql, inflect=inflect))


def relation_name(columns: tuple[str, ...], *, inflect: bool) -> str | None:
    """Return the name of a relation by the column of its foreign key: `owner` for `owner_id` (not inflected: `ownerId`).

    None if the key has several columns, or its column has another ending.
    """
    ending = "_id" if inflect else "Id"
    if len(columns) != 1 or not columns[0].endswith(ending) or columns[0] == ending:
        return None
    return lower_first(field_name(columns[0].removesuffix(ending), inflect=inflect))


def lower_first(name: str) -> str:
    """Return a name with its first character in lower case."""
    return name[:1].lower() + name[1:]
