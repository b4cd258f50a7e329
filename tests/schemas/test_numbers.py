"""Numbers of clients: what is read, what is not, and that no module converts text by itself without a reason."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.numbers import (
    LONGEST,
    clamp_whole_number,
    parse_decimal_number,
    parse_hex_number,
    parse_whole_number,
    read_json_number,
)
from tests.schemas.number_reasons import REASONS

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("services", "workers", "schemas", "broker")
_HELPER = "schemas/numbers.py"
_CONVERSION = re.compile(r"\b(int|float|Decimal)\(|\bmap\(\s*(int|float)\b")
"""What every module with a conversion has in its text: the others need not be parsed, which takes most of the time."""

_NO_NUMBERS = [
    "",
    " ",
    "+5",
    "-",
    "1_000",
    " 5",
    "5 ",
    "5\n",
    "٥",
    "²",
    "1e3",
    "0x10",
    "1.0",
    "nan",
    "infinity",
    "5,",
]


@pytest.mark.parametrize("text", _NO_NUMBERS)
def test_what_is_no_number_is_none(text: str) -> None:
    assert parse_whole_number(text, most=10**9) is None
    assert parse_whole_number(text, least=-(10**9), most=10**9) is None
    assert clamp_whole_number(text, most=10**9) is None


def test_the_whole_text_counts() -> None:
    assert parse_whole_number("00006048000", least=1, most=604_800) is None
    assert parse_whole_number("0000604800", least=1, most=604_800) == 604_800
    assert parse_whole_number("9" * 400, most=2**63) is None
    assert parse_whole_number("0" * LONGEST + "1", most=9) is None


def test_a_sign_is_read_where_a_number_may_be_negative() -> None:
    assert parse_whole_number("-7", least=-10, most=10) == -7
    assert parse_whole_number("-7", most=10) is None
    assert parse_whole_number("--7", least=-10, most=10) is None
    assert parse_whole_number("-11", least=-10, most=10) is None


def test_a_limit_of_any_length_is_cut() -> None:
    assert clamp_whole_number("9" * 5000, most=1000) == 1000
    assert clamp_whole_number("0" * 5000 + "12", most=1000) == 12
    assert clamp_whole_number("-1", most=1000) is None


def test_digits_of_base_sixteen() -> None:
    assert parse_hex_number("fF", most=255) == 255
    assert parse_hex_number("100", most=255) is None
    assert parse_hex_number("0" * 17, most=255) is None


@pytest.mark.parametrize("text", ["", " ", "+5", "-5", "0x10", "1_0", " 5", "5\n", "g", "٥"])
def test_what_is_no_number_of_base_sixteen_is_none(text: str) -> None:
    assert parse_hex_number(text, most=10**9) is None


@pytest.mark.parametrize("text", ["", ".", "1e5", "nan", "inf", "1_0", "+1", " 1", "9" * 65])
def test_what_is_no_decimal_number_is_none(text: str) -> None:
    assert parse_decimal_number(text, least=-1e9, most=1e9) is None


def test_a_decimal_number_has_bounds() -> None:
    assert parse_decimal_number("0.5", least=0, most=1) == 0.5
    assert parse_decimal_number(".5", least=0, most=1) == 0.5
    assert parse_decimal_number("1.5", least=0, most=1) is None


def test_numbers_of_json_are_cut_and_nothing_else_is_one() -> None:
    assert read_json_number(10**400, least=0, most=1e15) == 1e15
    assert read_json_number(-(10**400), least=-5, most=5) == -5
    assert read_json_number(1.5, least=0, most=5) == 1.5
    for value in (True, None, "1", float("nan"), [1], {}):
        assert read_json_number(value, least=0, most=5) is None


def test_no_module_converts_text_without_a_reason() -> None:
    """A new `int(text)` belongs into `schemas/numbers.py`; another conversion is listed with what makes it safe."""
    found = {(module, source) for module, source in _conversions()}
    listed = {(module, source) for module, reasons in REASONS.items() for source in reasons}
    assert found - listed == set(), "conversions without a reason in tests/schemas/number_reasons.py"
    assert listed - found == set(), "reasons for conversions that are gone"


def _conversions() -> Iterator[tuple[str, str]]:
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            module = path.relative_to(_ROOT).as_posix()
            text = path.read_text()
            if module != _HELPER and _CONVERSION.search(text):
                for source in _of_module(ast.parse(text)):
                    yield module, source


def _of_module(tree: ast.Module) -> Iterator[str]:
    patterns = {id(node.cls) for node in ast.walk(tree) if isinstance(node, ast.MatchClass)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="int" | "float" | "Decimal"), args=[value, *_]):
                if id(node.func) not in patterns and not _is_number(value):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int" | "float"), *_]):
                yield ast.unparse(node)


def _is_number(value: ast.expr) -> bool:
    """Tell whether an argument is a number by its form: arithmetic with a number, a clock, a setting, a constant, or a count
    that a statement of the platform returned (`rows[0][0] or 0`).
    """
    match value:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.Mod):
            return _is_number(left) or _is_number(right)
        case ast.BoolOp(
            op=ast.Or(),
            values=[
                ast.Subscript(value=ast.Subscript(slice=ast.Constant(int())), slice=ast.Constant(int())),
                ast.Constant(int()),
            ],
        ):
            return True
        case ast.Call(func=ast.Attribute(attr="timestamp" | "total_seconds" | "time" | "clock")):
            return True
        case ast.Attribute():
            return any(
                isinstance(part, ast.Name | ast.Attribute) and _name(part) in ("settings", "_settings", "own")
                for part in ast.walk(value.value)
            )
    return False


def _name(part: ast.Name | ast.Attribute) -> str:
    return part.id if isinstance(part, ast.Name) else part.attr
