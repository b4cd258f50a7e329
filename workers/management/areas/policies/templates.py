"""Policies that are often needed, as changes to look at and apply. Pure.

`(select auth.uid())` is evaluated once for a statement, not once for a row.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct

from workers.management.areas.ddl.access import CreatePolicy, PolicyCommand, SetRowSecurity
from workers.management.areas.ddl.changes import Change
from workers.management.areas.ddl.text_checks import literal, name, qualified
from workers.management.interface.errors import invalid_arguments, not_found

_USER = "(select auth.uid())"


class TemplateParameter(Struct, frozen=True):
    """A parameter of a template; without a default it is needed."""

    name: str
    meaning: str
    default: str | None = None


class TemplateInfo(Struct, frozen=True):
    """A template: what it allows, and its parameters."""

    name: str
    title: str
    allows: str
    parameters: list[TemplateParameter]


Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class PolicyTemplate:
    """A template and the function that makes its policies for a table."""

    info: TemplateInfo
    policies: Callable[[str, str, Values], list[CreatePolicy]]


def template_list() -> list[TemplateInfo]:
    """Return the templates."""
    return [template.info for template in _TEMPLATES.values()]


def changes_of(template: str, schema: str, table: str, values: Values) -> list[Change]:
    """Return the changes of a template for a table: row security on, and its policies. Raises: ManagementError (400, 404)."""
    chosen = _TEMPLATES.get(template)
    if chosen is None:
        raise not_found(f"template {template}; policies.templates lists them")
    parameters = {parameter.name: parameter for parameter in chosen.info.parameters}
    if unknown := sorted(set(values) - set(parameters)):
        raise invalid_arguments(f"Template {template} has no parameter {unknown[0]}")
    full = {
        parameter.name: values.get(parameter.name, parameter.default) for parameter in parameters.values()
    }
    if needed := [key for key, value in full.items() if value is None]:
        raise invalid_arguments(f"Template {template} needs the parameter {needed[0]}")
    complete = {key: value for key, value in full.items() if value is not None}
    return [
        SetRowSecurity(schema=schema, table=table, enabled=True),
        *chosen.policies(schema, table, complete),
    ]


def _policy(
    schema: str,
    table: str,
    title: str,
    command: PolicyCommand,
    role: str,
    using: str | None,
    check: str | None,
) -> CreatePolicy:
    return CreatePolicy(
        schema=schema, table=table, name=title, command=command, roles=[role], using=using, check=check
    )


def _owner_reads(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    test = f"{_USER} = {name(values['column'])}"
    return [_policy(schema, table, "Owners read their rows", "select", "authenticated", test, None)]


def _owner_all(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    test = f"{_USER} = {name(values['column'])}"
    return [
        _policy(schema, table, "Owners read their rows", "select", "authenticated", test, None),
        _policy(schema, table, "Owners insert their rows", "insert", "authenticated", None, test),
        _policy(schema, table, "Owners update their rows", "update", "authenticated", test, test),
        _policy(schema, table, "Owners delete their rows", "delete", "authenticated", test, None),
    ]


def _public_read(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    del values
    return [_policy(schema, table, "All clients read all rows", "select", "public", "true", None)]


def _signed_in_read(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    del values
    return [_policy(schema, table, "Users read all rows", "select", "authenticated", "true", None)]


def _signed_in_insert(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    del values
    return [_policy(schema, table, "Users insert rows", "insert", "authenticated", None, "true")]


def _claim(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    claim = f"(select auth.jwt()) ->> {literal(values['claim'])}"
    test = f"{claim} = {name(values['column'])}::text"
    title = f"Rows of the claim {values['claim']}"[:63]
    return [_policy(schema, table, title, "all", "authenticated", test, test)]


def _app_role(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    test = f"(select auth.jwt()) -> 'app_metadata' ->> 'role' = {literal(values['role'])}"
    title = f"All rows for the role {values['role']}"[:63]
    return [_policy(schema, table, title, "all", "authenticated", test, test)]


def _member(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    members = qualified(values["member_schema"], values["member_table"])
    test = (
        f"{name(values['column'])} in (select member.{name(values['member_column'])} from {members} as member"  # noqa: S608 - quoted names, shown before it runs
        f" where member.{name(values['member_user'])} = {_USER})"
    )
    return [
        _policy(schema, table, "Members read the rows of their group", "select", "authenticated", test, None)
    ]


def _second_factor(schema: str, table: str, values: Values) -> list[CreatePolicy]:
    del values
    test = "(select auth.jwt()) ->> 'aal' = 'aal2'"
    policy = _policy(schema, table, "Second factor is needed", "all", "authenticated", test, test)
    return [
        CreatePolicy(
            schema=schema,
            table=table,
            name=policy.name,
            roles=policy.roles,
            using=test,
            check=test,
            is_permissive=False,
        )
    ]


_COLUMN = TemplateParameter("column", "Column with the user's id", "user_id")


def _template(
    key: str,
    title: str,
    allows: str,
    policies: Callable[[str, str, Values], list[CreatePolicy]],
    *parameters: TemplateParameter,
) -> PolicyTemplate:
    return PolicyTemplate(TemplateInfo(key, title, allows, list(parameters)), policies)


_TEMPLATES = {
    template.info.name: template
    for template in (
        _template("owner_reads", "Own rows: read", "A user reads the rows that have the user's id", _owner_reads, _COLUMN),
        _template("owner", "Own rows", "A user reads and changes the rows that have the user's id", _owner_all, _COLUMN),
        _template("public_read", "Public", "All clients read all rows, without a token too", _public_read),
        _template("signed_in_read", "Users read", "Every user reads all rows", _signed_in_read),
        _template("signed_in_insert", "Users insert", "Every user inserts rows", _signed_in_insert),
        _template(
            "claim", "By claim", "A user works with the rows whose column equals a claim of the token", _claim,
            TemplateParameter("claim", "Name of the claim"), TemplateParameter("column", "Column to compare it with"),
        ),
        _template(
            "app_role", "By role of the app", "Users whose app_metadata has this `role` work with all rows", _app_role,
            TemplateParameter("role", "The role in app_metadata", "admin"),
        ),
        _template(
            "member", "By membership", "A user reads the rows of the groups that a membership table lists", _member,
            TemplateParameter("column", "Column with the group", "team_id"),
            TemplateParameter("member_table", "Table of memberships"),
            TemplateParameter("member_schema", "Its schema", "public"),
            TemplateParameter("member_column", "Its column with the group", "team_id"),
            TemplateParameter("member_user", "Its column with the user's id", "user_id"),
        ),
        _template(
            "second_factor", "Second factor", "Restricts all other policies to users who proved a second factor",
            _second_factor,
        ),
    )
}  # fmt: skip
