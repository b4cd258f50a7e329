"""Function calls as SQL: reference page, section 14."""

import pytest

from tests.workers.rest.plan.asking import ask
from tests.workers.rest.query.fragments import shown
from workers.rest.model import CallPlan
from workers.rest.query.call import call_sql

FORM = "application/x-www-form-urlencoded"
BODY = "pg_catalog.json_to_record($1::json) as hw_args"
FIRST = "pg_catalog.json_to_record($1::json -> 0) as hw_args"


@pytest.mark.parametrize(
    ("method", "target", "body", "kind", "expected"),
    [
        ("GET", "/rpc/letters", None, None, 'select "public"."letters"() as "pgrst_scalar"'),
        ("GET", "/rpc/add?a=1", None, None, 'select "public"."add"("a" => $1::integer) as "pgrst_scalar"'),
        ("GET", "/rpc/add?b=2&a=1", None, None, 'select "public"."add"("b" => $1::integer, "a" => $2::integer) as "pgrst_scalar"'),
        ("GET", "/rpc/sentence?glue=,&words=a&words=b", None, None, 'select "public"."sentence"("glue" => $1::text, variadic "words" => array[$2, $3]::text[]) as "pgrst_scalar"'),
        ("GET", "/rpc/all_projects", None, None, 'select hw_call.* from "public"."all_projects"() as hw_call'),
        ("GET", "/rpc/pairs?n=1", None, None, 'select hw_call.* from "public"."pairs"("n" => $1::integer) as hw_call'),
        ("POST", "/rpc/add", '{"a":1,"b":2}', None, f'select "public"."add"("a" => hw_args."a", "b" => hw_args."b") as "pgrst_scalar" from {BODY}("a" integer, "b" integer)'),
        ("POST", "/rpc/add", '[{"a":1,"b":2}]', None, f'select "public"."add"("a" => hw_args."a", "b" => hw_args."b") as "pgrst_scalar" from {FIRST}("a" integer, "b" integer)'),
        ("POST", "/rpc/sentence", '{"glue":"","words":[]}', None, f'select "public"."sentence"("glue" => hw_args."glue", variadic "words" => hw_args."words") as "pgrst_scalar" from {BODY}("glue" text, "words" text[])'),
        ("POST", "/rpc/one_project", '{"wanted":1}', None, f'select hw_call.* from {BODY}("wanted" integer), lateral "public"."one_project"("wanted" => hw_args."wanted") as hw_call'),
        ("POST", "/rpc/mixed", '{"z":1}', None, 'select "public"."mixed"($1::json) as "pgrst_scalar"'),
        ("POST", "/rpc/takes_text", "x", "text/plain", 'select "public"."takes_text"($1::text) as "pgrst_scalar"'),
        ("POST", "/rpc/add", "a=1", FORM, 'select "public"."add"("a" => $1::integer) as "pgrst_scalar"'),
    ],
)  # fmt: skip
def test_calls(method: str, target: str, body: str | None, kind: str | None, expected: str) -> None:
    asked = ask(method, target, body, **({} if kind is None else {"content_type": kind}))
    assert isinstance(asked.plan, CallPlan)

    values = (*asked.values, "the body")  # the payload's slot counts from the end
    assert shown(call_sql(asked.plan.call), values)[0] == expected
