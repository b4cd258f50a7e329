"""Function calls as SQL. Pure. Source: docs/reference/rest.md, section 14."""

from workers.database.schema_cache.catalog import CatalogArgument, Returns
from workers.rest.model import PAYLOAD, FunctionCall, Operand
from workers.sql.compose import EMPTY, Sql, catalog_text, concat, ident, join, param, qualified, raw

SCALAR = "pgrst_scalar"
"""Column that holds the result of a function without columns."""


def call_sql(call: FunctionCall) -> Sql:
    """Return the rows of a call: its columns, or one column (`SCALAR`)."""
    invocation = concat(
        qualified(call.function.schema, call.function.name), raw("("), _arguments(call), raw(")")
    )
    source = _payload(call)
    if call.function.returns is Returns.COMPOSITE and not call.function.is_composite_alias:
        rows = concat(source, raw(", lateral ") if source else EMPTY, invocation, raw(" as hw_call"))
        return concat(raw("select hw_call.* from "), rows)
    if call.function.returns is Returns.COMPOSITE:
        # The star stands outside: beside the function it would call it once for each column.
        inner = concat(
            raw("(select (hw_one.hw_value).* from (select "),
            invocation,
            raw(" as hw_value) as hw_one) as hw_call"),
        )
        return concat(raw("select hw_call.* from "), source, raw(", lateral ") if source else EMPTY, inner)
    scalar = concat(invocation, raw(" as "), ident(SCALAR))
    return concat(raw("select "), scalar, concat(raw(" from "), source) if source else EMPTY)


def _payload(call: FunctionCall) -> Sql:
    """Return the JSON object of arguments as a row named `hw_args`, where arguments come from one."""
    if not call.takes_json:
        return EMPTY
    kinds = {argument.name: argument.cast_type for argument in call.function.arguments}
    typed = [concat(ident(name), raw(" "), catalog_text(kinds[name])) for name in call.arguments]
    # An array stands for its first object.
    first = concat(param(PAYLOAD), raw("::json -> 0" if call.is_array else "::json"))
    return concat(raw("pg_catalog.json_to_record("), first, raw(") as hw_args("), join(", ", typed), raw(")"))


def _arguments(call: FunctionCall) -> Sql:
    if call.takes_body:
        return concat(param(PAYLOAD), raw("::"), catalog_text(call.function.arguments[0].cast_type))
    by_name = {argument.name: argument for argument in call.function.arguments}
    if call.takes_json:
        arguments = [
            concat(_name(by_name[name]), raw(" => hw_args."), ident(name)) for name in call.arguments
        ]
    else:
        arguments = [
            concat(_name(by_name[name]), raw(" => "), _direct(by_name[name], texts))
            for name, texts in call.direct
        ]
    return join(", ", arguments)


def _name(argument: CatalogArgument) -> Sql:
    return concat(raw("variadic ") if argument.is_variadic else EMPTY, ident(argument.name))


def _direct(argument: CatalogArgument, texts: tuple[Operand, ...]) -> Sql:
    if argument.is_variadic:
        listed = join(", ", [param(text) for text in texts])
        return concat(raw("array["), listed, raw("]::"), catalog_text(argument.cast_type))
    return concat(param(texts[0]), raw("::"), catalog_text(argument.cast_type))
