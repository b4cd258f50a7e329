import importlib.util
import sys
import typing
import uuid

import pydantic
import pytest

from workers.project.types.python import python


@pytest.fixture
def module(described, tmp_path):
    """The generated file, imported."""
    file = tmp_path / "database_types.py"
    file.write_text(python(described))
    spec = importlib.util.spec_from_file_location("database_types", file)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["database_types"] = loaded
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["database_types"]


async def test_rows_are_read_into_models(module):
    row = {
        "id": str(uuid.uuid4()), "name": "Ä", "mood": "ok", "tags": ["a"], "at": "2024-01-01T00:00:00+00:00",
        "weird-name": 2, "m": 3, "place": {"x": 1, "moods": ["sad"]},
    }  # fmt: skip

    author = module.PublicAuthors.model_validate(row)

    assert (author.weird_name, author.place.moods, author.field_class) == (2, ["sad"], None)
    with pytest.raises(pydantic.ValidationError):
        module.PublicAuthors.model_validate({**row, "mood": "else"})


async def test_what_is_written_has_its_keys(module):
    assert module.PublicPostsInsert.__required_keys__ == {"author", "title"}
    assert "id" not in typing.get_type_hints(module.PublicPostsInsert)
    assert module.PublicPostsUpdate.__required_keys__ == set()
    assert set(module.PublicSimpleInsert.__optional_keys__) == {"id", "title"}
    assert not hasattr(module, "PublicTitlesInsert")
