"""Which function is called, and with what: reference page, sections 14 and 20."""

import pytest

from tests.workers.rest.plan.asking import ask, plan
from workers.database.transactions.model import TransactionEnd
from workers.rest.errors.plan import AmbiguousFunction, DatabaseFunctionNotFound, MaxAffectedNeedsSet
from workers.rest.model import FunctionCall, Operand, RowRange
from workers.sql.compose import ParameterSlot


def call(method: str, target: str, body: str | None = None, /, **headers: str | int) -> FunctionCall:
    found = plan(method, target, body, **headers).call
    assert found is not None
    return found


def types(found: FunctionCall) -> list[str]:
    return [each.type for each in found.function.arguments]


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("/rpc/add?a=1&b=2", ("a", "b")),
        ("/rpc/add?b=2&a=1", ("a", "b")),
        ("/rpc/add?a=1", ("a",)),
        ("/rpc/letters", ()),
        ("/rpc/over?a=1&b=x", ("a", "b")),
        ("/rpc/sentence?glue=,&words=a&words=b", ("glue", "words")),
        ("/rpc/all_projects?id=eq.1&limit=1&order=id", ()),
    ],
)
def test_arguments_of_a_read_stand_in_the_url(target: str, arguments: tuple[str, ...]) -> None:
    found = call("GET", target)

    assert found.arguments == arguments
    assert {name for name, _ in found.direct} == set(arguments)
    assert not found.takes_json
    assert not found.takes_body


def test_of_an_argument_given_twice_the_last_counts_but_variadic_ones_keep_all() -> None:
    def numbers(operands: tuple[Operand, ...]) -> list[int]:
        return [each.index for each in operands if isinstance(each, ParameterSlot)]

    twice = dict(call("GET", "/rpc/add?a=1&a=2").direct)
    variadic = dict(call("GET", "/rpc/sentence?words=x&glue=,&words=y").direct)

    assert numbers(twice["a"]) == [1]
    assert (numbers(variadic["words"]), numbers(variadic["glue"])) == ([0, 2], [1])


@pytest.mark.parametrize(
    ("target", "body", "headers", "arguments", "takes"),
    [
        ("/rpc/add", '{"a":1}', {}, ("a",), "json"),
        ("/rpc/add", '{"b":1,"a":1}', {}, ("a", "b"), "json"),
        ("/rpc/add?columns=a", '{"a":1,"zzz":1}', {}, ("a",), "json"),
        ("/rpc/letters", None, {}, (), "nothing"),
        ("/rpc/letters", "{}", {}, (), "nothing"),
        ("/rpc/add", "a=1&b=2", {"content_type": "application/x-www-form-urlencoded"}, ("a", "b"), "form"),
        ("/rpc/mixed", '{"a":1}', {}, ("a",), "json"),
        ("/rpc/mixed", '{"other":1}', {}, (), "body"),
        ("/rpc/mixed", "[1,2]", {}, (), "body"),
        ("/rpc/mixed", "7", {}, (), "body"),
        ("/rpc/takes_text", "any text", {"content_type": "text/plain"}, (), "body"),
        ("/rpc/takes_bytes", "bytes", {"content_type": "application/octet-stream"}, (), "body"),
    ],
)
def test_arguments_of_a_post_stand_in_the_body(
    target: str, body: str | None, headers: dict[str, str], arguments: tuple[str, ...], takes: str
) -> None:
    found = call("POST", target, body, **headers)

    assert found.arguments == arguments
    assert (found.takes_json, found.takes_body, bool(found.direct)) == (
        takes == "json",
        takes == "body",
        takes == "form",
    )


def test_names_choose_the_overload() -> None:
    assert types(call("GET", "/rpc/over?a=1&b=x")) == ["integer", "text"]
    assert types(call("POST", "/rpc/mixed", '{"a":1}')) == ["integer"]
    assert types(call("POST", "/rpc/mixed", '{"b":1}')) == ["json"]


def test_several_overloads_are_listed() -> None:
    with pytest.raises(AmbiguousFunction) as caught:
        plan("GET", "/rpc/over?a=1")

    assert caught.value.status == 300
    assert caught.value.body() == {
        "code": "PGRST203",
        "message": "Could not choose the best candidate function between: public.over(a => integer), public.over(a => text)",
        "details": None,
        "hint": "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
    }


ALSO_JSON = " or with a single unnamed json/jsonb parameter"
TEXT = {"content_type": "text/plain"}
FORM = {"content_type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "name", "searched", "hint"),
    [
        ("GET", "/rpc/letters?x=1", None, {}, "letters(x)", "letters with parameter x", None),
        ("GET", "/rpc/add", None, {}, "add without parameters", "add without parameters", None),
        ("GET", "/rpc/add?a=1&c=2", None, {}, "add(a, c)", "add with parameters a, c", "add(a, b)"),
        ("GET", "/rpc/add?c=1&b=1&a=2", None, {}, "add(a, b, c)", "add with parameters a, b, c", "add(a, b)"),
        ("GET", "/rpc/leters", None, {}, "leters without parameters", "leters without parameters", "letters"),
        ("GET", "/rpc/quite_other", None, {}, "quite_other without parameters", "quite_other without parameters", None),
        ("POST", "/rpc/letters", '{"x":1}', {}, "letters(x)", f"letters with parameter x{ALSO_JSON}", None),
        ("POST", "/rpc/one_project", None, {}, "one_project without parameters", f"one_project without parameters{ALSO_JSON}", None),
        ("POST", "/rpc/letters", "x", TEXT, "letters", "letters with a single unnamed text parameter", None),
        ("POST", "/rpc/letters", "<x/>", {"content_type": "text/xml"}, "letters", "letters with a single unnamed xml parameter", None),
        ("POST", "/rpc/takes_text", "x", {"content_type": "application/octet-stream"}, "takes_text", "takes_text with a single unnamed bytea parameter", None),
        ("POST", "/rpc/letters", "x=1", FORM, "letters(x)", "letters with parameter x", None),
        ("GET", "/rpc/takes_text", None, {}, "takes_text without parameters", "takes_text without parameters", None),
    ],
)  # fmt: skip
def test_no_function_is_refused_with_what_was_searched(
    method: str,
    target: str,
    body: str | None,
    headers: dict[str, str],
    name: str,
    searched: str,
    hint: str | None,
) -> None:
    with pytest.raises(DatabaseFunctionNotFound) as caught:
        plan(method, target, body, **headers)

    assert caught.value.body() == {
        "code": "PGRST202",
        "message": f"Could not find the function public.{name} in the schema cache",
        "details": f"Searched for the function public.{searched}, but no matches were found in the schema cache.",
        "hint": f"Perhaps you meant to call the function public.{hint}" if hint else None,
    }


@pytest.mark.parametrize(
    ("method", "target", "read_only"),
    [
        ("GET", "/rpc/nothing", True),
        ("HEAD", "/rpc/nothing", True),
        ("POST", "/rpc/nothing", False),
        ("POST", "/rpc/all_projects", True),
        ("POST", "/rpc/letters", True),
    ],
)
def test_only_a_posted_volatile_function_may_write(method: str, target: str, read_only: bool) -> None:
    assert plan(method, target).read_only is read_only


def test_a_function_s_own_settings_hold_for_the_transaction() -> None:
    found = plan("POST", "/rpc/apart")

    assert found.isolation == "serializable"
    assert found.settings == (("default_transaction_isolation", "serializable"), ("statement_timeout", "7s"))


def test_rows_of_a_function_are_read_like_those_of_its_relation() -> None:
    found = plan("GET", "/rpc/all_projects?select=name,clients(name)&id=gt.1&order=name&limit=5", max_rows=3)

    assert found.relation is not None
    assert (found.relation.name, found.read.source) == ("projects", ("", "hw_source"))
    assert (len(found.read.embeds), len(found.read.where), len(found.read.order)) == (1, 1, 1)
    assert found.read.range == RowRange(0, 3)


@pytest.mark.parametrize(
    ("target", "rows"), [("/rpc/letters", RowRange(0, 3)), ("/rpc/letters?limit=2&offset=1", RowRange(1, 2)), ("/rpc/letters?limit=9", RowRange(0, 3))]
)  # fmt: skip
def test_max_rows_bounds_scalar_sets(target: str, rows: RowRange) -> None:
    assert plan("GET", target, max_rows=3).read.range == rows


def test_max_affected_needs_a_set() -> None:
    strict = {"prefer": "handling=strict, max-affected=2"}

    found = plan("POST", "/rpc/letters", **strict)

    assert (found.max_affected, found.end) == (2, TransactionEnd.DECIDE)
    with pytest.raises(MaxAffectedNeedsSet):
        plan("POST", "/rpc/add", '{"a":1}', **strict)
    assert plan("POST", "/rpc/add", '{"a":1}', prefer="max-affected=2").max_affected is None


def test_values_of_arguments_are_left_to_each_request() -> None:
    one, other = ask("GET", "/rpc/add?a=1&b=2"), ask("GET", "/rpc/add?a=3&b=4")

    assert one.plan == other.plan
    assert (one.values, other.values) == (("1", "2"), ("3", "4"))
