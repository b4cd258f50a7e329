"""Names of generated classes: one for each enum, composite type, table and view, none twice (pure)."""

import re

from workers.project.types.model import TypegenDatabase
from workers.project.types.schema_parts import schemas_of

_NOT_IN_WORDS = re.compile(r"[\W_]+", re.ASCII)


def class_name(*texts: str) -> str:
    """Return texts as one name in capitals and small letters: `public`, `blog_posts` -> `PublicBlogPosts`."""
    parts = (part for text in texts for part in _NOT_IN_WORDS.split(text))
    joined = "".join(part[:1].upper() + part[1:] for part in parts if part)
    return joined if joined[:1].isalpha() else f"T{joined}"


def class_names(database: TypegenDatabase) -> dict[tuple[str, str], str]:
    """Return the name of each enum and relation, by schema and name; one that is in use gets a number."""
    names: dict[tuple[str, str], str] = {}
    used: set[str] = set()
    for schema in schemas_of(database):
        relations = [(part.schema, part.name) for part in (*schema.composites, *schema.tables, *schema.views)]
        for named in [*((enum.schema, enum.name) for enum in schema.enums), *relations]:
            name = wanted = class_name(*named)
            number = 2
            while name in used:
                name, number = f"{wanted}{number}", number + 1
            used.add(name)
            names[named] = name
    return names
