"""The operation that generates types of the project's database for TypeScript."""

from msgspec import Struct

from workers.management.areas.project.typescript_types import typescript_types
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right

_MOST_SCHEMAS = 100


class TypesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The schemas whose types to generate; none: the exposed ones."""

    schemas: list[str] = []


class GeneratedTypes(Struct, frozen=True):
    """The source of the types."""

    types: str


async def generate_types(context: OperationContext, arguments: TypesRequest) -> GeneratedTypes:
    """Return TypeScript types of the database, as `headwater gen types` prints them."""
    schemas = arguments.schemas or context.configuration.api.schemas
    if len(schemas) > _MOST_SCHEMAS or any("\0" in name for name in schemas):
        raise invalid_arguments(f"`schemas` must be at most {_MOST_SCHEMAS} names")
    return GeneratedTypes(await typescript_types(context, schemas))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "project.types",
            "Generate TypeScript types",
            TypesRequest,
            GeneratedTypes,
            Right.READER,
            generate_types,
        )
    ]
