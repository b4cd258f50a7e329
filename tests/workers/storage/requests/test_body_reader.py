"""Members of bodies and queries, and the words of what is wrong with them."""

import pytest

from workers.storage.model.errors import StorageError
from workers.storage.requests.body_reader import BodyReader


def test_values_are_read_also_from_texts() -> None:
    read = BodyReader("querystring", {"a": "5", "b": "true", "c": 7, "d": 2.0, "e": None})

    assert read.integer("a", least=1) == 5
    assert read.flag("b") is True
    assert read.text("c") == "7"
    assert read.integer("d", least=0) == 2
    assert read.text("e", "usual") == "usual"
    read.check()


def test_all_faults_are_told_at_once() -> None:
    read = BodyReader(
        "body", {"limit": 0, "flag": "perhaps", "list": "x", "name": [], "kind": "z", "n": True}
    )
    read.integer("limit", least=1)
    read.flag("flag")
    read.texts("list")
    read.text("name")
    read.choice("kind", ("a", "b"))
    read.integer("n", least=0)
    read.text("missing", needed=True)

    with pytest.raises(StorageError) as refused:
        read.check()

    assert refused.value.body() == {
        "statusCode": "400",
        "error": "Error",
        "message": "body/limit must be >= 1, body/flag must be boolean, body/list must be array, body/name must be string,"
        " body/kind must be equal to one of the allowed values, body/n must be integer,"
        " body must have required property 'missing'",
        "code": "InvalidRequest",
    }
