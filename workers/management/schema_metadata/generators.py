"""GET /generators/<language>: types of the database in a programming language."""

from workers.management.schema_metadata.errors import MetadataError
from workers.management.schema_metadata.reads import CatalogSession
from workers.management.schema_metadata.request import MetadataRequest


async def generate(session: CatalogSession, language: str, request: MetadataRequest) -> str:
    """Return the types as a text. Raises: MetadataError, DatabaseError."""
    del session, request
    raise MetadataError(404, f"Not found: {language}")
