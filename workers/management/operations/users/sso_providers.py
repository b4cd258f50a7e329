"""Identity providers of the project's single sign-on (SAML)."""

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Struct, UnsetType

from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.management.operations.users.auth_pool import call_auth

_PATH = "/admin/sso/providers"
_MOST_ID = 300


class NewSsoProvider(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A provider to add: the address of its metadata (https), or the document itself, and the domains of its users."""

    metadata_url: str = ""
    metadata_xml: str = ""
    domains: list[str] | UnsetType = UNSET
    attribute_mapping: dict[str, Any] | UnsetType = UNSET
    name_id_format: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET


class ChangedSsoProvider(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What changes of a provider; what is left out stays. `id` is its UUID, or `resource_` and its `resource_id`."""

    id: str
    metadata_url: str = ""
    metadata_xml: str = ""
    domains: list[str] | UnsetType = UNSET
    attribute_mapping: dict[str, Any] | UnsetType = UNSET
    name_id_format: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET


class SsoProviderReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A provider by its UUID, or by `resource_` and its `resource_id`."""

    id: Annotated[str, limits.text(_MOST_ID)]


class SsoProviderAnswer(Struct, frozen=True):
    """A provider as auth shows it: `id`, `resource_id`, `disabled`, `saml`, `domains`, times."""

    provider: dict[str, Any]


async def list_providers(context: OperationContext, arguments: NoArguments) -> list[SsoProviderAnswer]:
    """Return the providers, without their metadata."""
    del arguments
    answer = await call_auth(context, "GET", _PATH)
    return [SsoProviderAnswer(provider) for provider in answer["items"]]


async def read(context: OperationContext, arguments: SsoProviderReference) -> SsoProviderAnswer:
    """Return a provider with its metadata."""
    return SsoProviderAnswer(await call_auth(context, "GET", _path(arguments.id)))


async def create(context: OperationContext, arguments: NewSsoProvider) -> SsoProviderAnswer:
    """Add a provider."""
    body = {"type": "saml", **msgspec.to_builtins(arguments)}
    context.after = provider = await call_auth(context, "POST", _PATH, body)
    return SsoProviderAnswer(provider)


async def change(context: OperationContext, arguments: ChangedSsoProvider) -> SsoProviderAnswer:
    """Change a provider."""
    path = _path(arguments.id)
    context.before = await call_auth(context, "GET", path)
    body = {name: value for name, value in msgspec.to_builtins(arguments).items() if name != "id"}
    context.after = provider = await call_auth(context, "PUT", path, body)
    return SsoProviderAnswer(provider)


async def remove(context: OperationContext, arguments: SsoProviderReference) -> Done:
    """Remove a provider; its users cannot sign in any more."""
    path = _path(arguments.id)
    context.before = await call_auth(context, "DELETE", path)
    return Done()


def _path(id_text: str) -> str:
    if not 1 <= len(id_text) <= _MOST_ID or "\0" in id_text:
        raise invalid_arguments(f"`id` must have 1 to {_MOST_ID} characters")
    return f"{_PATH}/{quote(id_text, safe='')}"


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, answer = Right.READER, SsoProviderAnswer
    answers = list[SsoProviderAnswer]
    return [
        Operation("sso_providers.list", "List SSO providers", NoArguments, answers, reader, list_providers),
        Operation("sso_providers.read", "Read an SSO provider", SsoProviderReference, answer, reader, read),
        _change("sso_providers.create", "Add an SSO provider", NewSsoProvider, answer, create),
        _change("sso_providers.change", "Change an SSO provider", ChangedSsoProvider, answer, change),
        _change("sso_providers.remove", "Remove an SSO provider", SsoProviderReference, Done, remove),
    ]


def _change(name: str, summary: str, arguments: type[Struct], result: Any, run: Run) -> Operation:
    """Return an operation that decides who may sign in: it needs a confirmation."""
    return Operation(name, summary, arguments, result, Right.DEVELOPER, run, changes=True, is_confirmed=True)
