from hypothesis import given
from hypothesis import strategies as st

from workers.functions.sealing import Sealer

ONE, OTHER = Sealer(b"one"), Sealer(b"other")


@given(st.text(), st.text())
def test_what_was_sealed_is_opened_under_its_name_and_secret_alone(name: str, text: str) -> None:
    sealed = ONE.seal(name, text)

    assert ONE.open(name, sealed) == text
    assert ONE.open(name + "x", sealed) is None
    assert OTHER.open(name, sealed) is None
    assert ONE.open(name, sealed[:-1]) is None


def test_a_digest_tells_equal_values_and_differs_by_platform() -> None:
    assert ONE.digest("a") == ONE.digest("a") != ONE.digest("b")
    assert ONE.digest("a") != OTHER.digest("a")
    assert "one" not in repr(ONE)
