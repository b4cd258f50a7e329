from pathlib import Path

import pytest

from workers.project.types.read_catalog import read_database

HERE = Path(__file__).parent


@pytest.fixture
async def described(project):
    """The schemas of schema.sql, as they are read for types."""
    await project.connection.execute((HERE / "schema.sql").read_text())
    return await read_database(project.connection, ["public", "api"])
