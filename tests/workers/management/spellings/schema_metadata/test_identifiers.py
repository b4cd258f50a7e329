"""Names of columns of which the rule of the reference makes no identifier."""

from collections.abc import Callable

import pytest

from workers.management.spellings.schema_metadata.types.go import go
from workers.management.spellings.schema_metadata.types.model import GeneratorInput
from workers.management.spellings.schema_metadata.types.python import python
from workers.management.spellings.schema_metadata.types.swift import swift


def _swift(database: GeneratorInput) -> str:
    return swift(database, "public")


@pytest.mark.parametrize(
    ("generator", "name", "member"),
    [
        (go, "is_on", "  IsOn string "),
        (go, "2fa_enabled", "  X2faEnabled string "),
        (go, "名前", "  X名前 string "),
        (go, "größe", "  GrE string "),
        (go, "-", "  X string "),
        (_swift, "2fa_enabled", "let x2faEnabled: "),
        (_swift, "名前", "let x名前: "),
        (python, "2fa_enabled", "    x_2fa_enabled: str"),
        (python, "名前", "    x_名前: str"),
        (python, "is_on", "    is_on: str"),
    ],
)
def test_a_member_has_a_name_that_compiles(
    generator: Callable[[GeneratorInput], str], name: str, member: str
) -> None:
    column = {
        "name": name, "format": "text", "is_nullable": False, "is_identity": False, "is_generated": False,
        "default_value": None,
    }  # fmt: skip
    table = {"id": 1, "schema": "s", "name": "t", "primary_keys": []}
    database = GeneratorInput(["s"], [table], [], [], [], {1: [column]}, [])

    assert member in generator(database)
