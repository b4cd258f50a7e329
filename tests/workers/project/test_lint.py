import pytest

from workers.project.lint import LintFinding, as_text, at_least, lint


async def found(project, sql):
    await project.connection.execute(sql)
    return {each.rule: each for each in await lint(project, ["public"], ["public"])}


@pytest.mark.parametrize(
    ("sql", "rule", "level"),
    [
        ("create table a (id int primary key)", "row_security_off", "error"),
        (
            "create table a (id int primary key); create policy p on a using (true)",
            "policies_without_row_security",
            "error",
        ),
        (
            "create table a (id int primary key); alter table a enable row level security",
            "no_policies",
            "warning",
        ),
        (
            "create table a (id int primary key); alter table a enable row level security; create view v as select * from a",
            "view_with_owners_rights",
            "error",
        ),
        (
            "create function f() returns int language sql security definer as 'select 1'",
            "search_path_of_definer",
            "warning",
        ),
        (
            "create table a (id int primary key); create table b (a int references a)",
            "foreign_key_without_index",
            "warning",
        ),
        ("create table a (id int)", "no_primary_key", "warning"),
        (
            "create table a (id int); create index on a (id); create index on a (id)",
            "duplicate_index",
            "warning",
        ),
        (
            "create table a (id uuid); create policy p on a using (id = auth.uid())",
            "policy_asks_for_each_row",
            "warning",
        ),
        (
            "set check_function_bodies = off; create function f() returns int language sql as 'select x from nowhere'",
            "function_body",
            "error",
        ),
        (
            "set check_function_bodies = off; create function f() returns int language plpgsql as 'begin if end'",
            "function_body",
            "error",
        ),
        (
            "create function f(a int) returns int language plpgsql as 'declare a int; begin return a; end'",
            "function_body",
            "warning",
        ),
    ],
)
async def test_a_fault_is_found_with_its_cure(project, sql, rule, level):
    findings = await found(project, sql)

    assert findings[rule].level == level
    assert findings[rule].cure


async def test_a_sound_schema_has_no_findings(project):
    findings = await found(
        project,
        "create table a (id uuid primary key, b uuid references a); create index on a (b);"
        "alter table a enable row level security; create policy p on a using (id = (select auth.uid()));"
        "create view v with (security_invoker = on) as select * from a;"
        "create function f() returns int language plpgsql security definer set search_path = '' as 'begin return 1; end'",
    )

    assert findings == {}


async def test_looking_changes_nothing(project):
    await found(project, "create function f() returns int language sql as 'select 1'")

    assert await project.connection.fetchval("select current_setting('plpgsql.extra_warnings')") == "none"


def test_findings_are_kept_by_level_and_shown_with_their_cure():
    findings = [LintFinding("error", "r", "a", "m", "c"), LintFinding("warning", "s", "b", "n", "d")]

    assert at_least(findings, "error") == findings[:1]
    assert at_least(findings, "none") == []
    assert as_text(findings[:1]) == "error: a: m [r]\n  c"
