"""Operations on the providers of sign-in: whether they are set up, their callback address, their discovery document."""

import msgspec
from msgspec import Struct

from workers.management.areas.settings.change import request_auth
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments


class ProviderDescription(Struct, frozen=True):
    """A provider of `auth.external`. Register `callback_url` at the provider."""

    name: str
    is_enabled: bool
    client_id: str
    has_secret: bool
    url: str
    callback_url: str
    has_discovery: bool
    """It publishes a document that `auth.check_provider` can look at."""


class ProviderReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A provider by name."""

    name: str


class ProviderVerdict(Struct, frozen=True):
    """Whether sign-in by a provider can work, and why not."""

    is_usable: bool
    message: str


async def list_providers(context: OperationContext, arguments: NoArguments) -> list[ProviderDescription]:
    """Return every provider that can be set up, without secrets."""
    del arguments
    return msgspec.convert(await request_auth(context, "/providers", {}), list[ProviderDescription])


async def check(context: OperationContext, arguments: ProviderReference) -> ProviderVerdict:
    """Fetch the discovery document of a provider and check whether it can be used."""
    return msgspec.convert(
        await request_auth(context, "/provider-check", {"name": arguments.name}), ProviderVerdict
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "auth.providers", "List providers of sign-in", NoArguments, list[ProviderDescription], Right.READER, list_providers
        ),
        Operation(
            "auth.check_provider", "Check a provider's discovery document", ProviderReference, ProviderVerdict,
            Right.DEVELOPER, check,
        ),
    ]  # fmt: skip
