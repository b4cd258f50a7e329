"""What a dump has, read from its list."""

from pathlib import Path

import pytest

from services.supervisor.binaries import find_postgres
from workers.backup.manifest import BackupError
from workers.backup.postgres_tools import TOOLS, extensions_in, list_entries

LISTED = """;
; Archive created at 2026-01-31
2; 3079 16385 EXTENSION - pgcrypto
4811; 0 0 COMMENT - EXTENSION pgcrypto
3; 3079 16422 EXTENSION - uuid-ossp
216; 1259 16390 TABLE public notes postgres
"""


def test_extensions_of_a_dump_are_those_that_it_makes() -> None:
    assert extensions_in(LISTED) == {"pgcrypto", "uuid-ossp"}


async def test_file_that_is_no_dump_is_refused_by_its_name(tmp_path: Path, tools: Path) -> None:
    (tmp_path / "database.dump").write_text("nothing")

    with pytest.raises(BackupError, match=r"database\.dump cannot be read"):
        await list_entries(tmp_path / "database.dump", {TOOLS: str(tools)})


@pytest.fixture
def tools() -> Path:
    """The folder of Postgres' own programs."""
    return find_postgres()
