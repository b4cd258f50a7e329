"""Rules of `[branches.mask]`: read, or refused with what is expected."""

import pytest

from schemas.branch_masks import InvalidMask, MaskRule, read_rules


def test_rules_name_a_column_and_a_kind():
    rules = {"public.users.email": "email", "shop.orders.total": "number( -5, 100)"}

    assert read_rules(rules) == [
        MaskRule("public", "users", "email", "email"),
        MaskRule("shop", "orders", "total", "number", -5, 100),
    ]


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("users.email", "email", 'named "schema.table.column"'),
        ("a.b.c.d", "email", 'named "schema.table.column"'),
        ("a..c", "email", 'named "schema.table.column"'),
        ("a.b.c", "mail", "kinds are null, hash"),
        ("a.b.c", "number", "kinds are null, hash"),
        ("a.b.c", "number(1, 2); drop", "kinds are null, hash"),
        ("a.b.c", "number(2, 1)", "the first bound is above the second"),
    ],
)
def test_a_wrong_rule_says_what_is_expected(name: str, kind: str, reason: str):
    with pytest.raises(InvalidMask, match=reason.replace("(", r"\(")):
        read_rules({name: kind})


def test_rules_have_a_bound():
    with pytest.raises(InvalidMask, match="more than 1000"):
        read_rules({f"a.b.c{number}": "null" for number in range(1001)})
