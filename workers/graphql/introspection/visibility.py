"""Show everything of a role's schema, also what introspection hides: what documents may use, for validating them. Pure.

Source: docs/reference/graphql.md, section 15: what is hidden works as well.
"""

from dataclasses import replace

from workers.graphql.model import Entity, FunctionField, RoleSchema, RootField, ValueType


def with_everything_shown(schema: RoleSchema) -> RoleSchema:
    """Return the schema with introspection and additions switched on for each of its database schemas."""
    return replace(
        schema,
        enums={name: replace(enum, is_introspectable=True) for name, enum in schema.enums.items()},
        entities={name: _shown_entity(entity) for name, entity in schema.entities.items()},
        query={name: _shown_root(root) for name, root in schema.query.items()},
        mutation={name: _shown_root(root) for name, root in schema.mutation.items()},
        has_introspection=True,
    )


def _shown_entity(entity: Entity) -> Entity:
    return replace(
        entity,
        columns={
            name: column if _is_shown(column.type) else replace(column, type=_shown_type(column.type))
            for name, column in entity.columns.items()
        },
        functions={name: _shown_function(function) for name, function in entity.functions.items()},
        is_introspectable=True,
        shows_additions=True,
    )


def _shown_root(root: RootField) -> RootField:
    return root if root.function is None else replace(root, function=_shown_function(root.function))


def _shown_function(function: FunctionField) -> FunctionField:
    return replace(
        function,
        arguments=tuple(
            replace(argument, type=_shown_type(argument.type)) for argument in function.arguments
        ),
        type=None if function.type is None else _shown_type(function.type),
        is_introspectable=True,
    )


def _is_shown(value_type: ValueType) -> bool:
    return value_type.enum is None or value_type.enum.is_introspectable


def _shown_type(value_type: ValueType) -> ValueType:
    if value_type.enum is None or value_type.enum.is_introspectable:
        return value_type
    return replace(value_type, enum=replace(value_type.enum, is_introspectable=True))
