from hypothesis import given
from hypothesis import strategies as st

from workers.functions.deployments.sealing import SecretSealer

ONE, OTHER = SecretSealer((b"one",)), SecretSealer((b"other",))


@given(st.text(), st.text())
def test_a_sealed_value_opens_only_with_its_name_and_secret(name: str, text: str) -> None:
    sealed = ONE.seal(name, text)

    assert ONE.open(name, sealed) == text
    assert ONE.open(name + "x", sealed) is None
    assert OTHER.open(name, sealed) is None
    assert ONE.open(name, sealed[:-1]) is None


def test_equal_values_have_equal_digests_and_platforms_differ() -> None:
    assert ONE.digest("a") == ONE.digest("a") != ONE.digest("b")
    assert ONE.digest("a") != OTHER.digest("a")
    assert "one" not in repr(ONE)
