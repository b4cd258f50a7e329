"""GET and POST /callback: a browser comes back from a provider. The steps, in their order:

    claim the state      once, and whatever came back          else 303 to the site with the error in the query
    ask the provider     the code for tokens, tokens for the person            no transaction is open meanwhile
    enter the account    or link the identity; a session, or the code of a PKCE flow             one transaction
    send the browser on  302 to where the flow wanted; every refusal after the claim goes there too

A state names its provider: what comes back is taken to that one and to no other, and an `iss` beside it must be the
provider's own. Source: reference page "auth", sections 11.2 and 11.3; RFC 6749, 4.1.2; RFC 9207; OAuth 2.0 Form Post
Response Mode.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl
from uuid import UUID

from schemas.http import Response, header
from workers.auth import audit
from workers.auth.accounts.passwords.login_failures import noted
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.sessions import Granted
from workers.auth.accounts.users import linking
from workers.auth.accounts.users.linking import Entry
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import landing
from workers.auth.federation.providers.registry import find_provider
from workers.auth.federation.social import account, joining, states
from workers.auth.federation.social.protocol import Arrival, Grant, Provider, ProviderFailed, ProviderUser
from workers.auth.federation.social.states import Kept
from workers.auth.federation.social.trail import trail
from workers.auth.flows import flow_state
from workers.auth.flows.flow_state import Flow, ProviderTokens
from workers.auth.flows.redirects import with_fragment, with_query
from workers.auth.http.endpoints.authorize import callback_address, target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, OAuthError, refusal_of
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.interactive import Transaction

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 100
_MOST_WORDS = 500
_SHARE_OF_TIME = 0.8


@dataclass(frozen=True, slots=True)
class _Back:
    """A browser that came back: its flow, the provider that the flow names, and what was brought."""

    flow: Flow
    kept: Kept
    provider: Provider
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Arrived:
    """What a person's arrival led to: an account, and a session, or a code, or neither where the entry has a refusal."""

    entry: Entry
    begun: tuple[User, Granted] | None
    code: str


async def callback(accounts: Accounts, asked: Asked) -> Response:
    """Take a browser back from a provider, and send it where its flow wanted. Every refusal is a redirect, too."""
    fields = _fields(asked)
    try:
        if not fields.get("state"):
            raise rejections.NO_STATE()
        async with accounts.transaction() as transaction:
            flow, kept = await states.claim(accounts, transaction, asked, fields["state"])
    except AuthError as error:
        told = {"error": landing.error_name(error.status), "error_code": error.code.value}
        site = with_query(accounts.settings.site_url, told | {"error_description": error.message})
        return landing.redirect(site, 303)
    target = target_of(accounts, [flow.referrer])
    try:
        address = await _landing(accounts, asked, flow, kept, fields, target)
    except OAuthError as error:
        told = {"error": error.error, "error_description": error.description}
        address = with_fragment(with_query(target, told), told)
    except AuthError as error:
        address = landing.failed(target, error, in_query=True)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        address = landing.failed(target, refusal_of(error), in_query=True)
    return landing.redirect(address, 302)


async def _landing(
    accounts: Accounts, asked: Asked, flow: Flow, kept: Kept, fields: Mapping[str, str], target: str
) -> str:
    """Give the address of a browser whose sign-in succeeds. Raises: AuthError, OAuthError, and as the database does."""
    if fields.get("error"):
        # Words of the provider, or of whoever made this address: shown, and no more.
        raise OAuthError(fields["error"][:_MOST_WORDS], fields.get("error_description", "")[:_MOST_WORDS])
    if not (fields.get("code") or fields.get("oauth_verifier")):
        raise rejections.NO_CODE()
    provider = await _provider_of(accounts, flow)
    grant, person = await _asked_provider(accounts, _Back(flow, kept, provider, fields))
    tokens = ProviderTokens(grant.access_token, grant.refresh_token)
    arrived = await _arrive(accounts, asked, flow, provider.name, person, tokens, target)
    await arrived.entry.tell(accounts, asked.device.address)
    if arrived.begun is None:
        return landing.with_code(target, arrived.code)
    shown = await accounts.session_shown(*arrived.begun)
    more = {"provider_token": tokens.access, "provider_refresh_token": tokens.refresh}
    return landing.granted(target, shown, more)


async def _provider_of(accounts: Accounts, flow: Flow) -> Provider:
    """Give the provider that a flow names. Raises: AuthError (400) if it was closed meanwhile."""
    try:
        async with accounts.transaction() as transaction:
            return await find_provider(accounts, transaction, flow.provider_type)
    except AuthError as error:
        if error.code is not Code.VALIDATION_FAILED:
            raise
        raise AuthError(Code.OAUTH_PROVIDER_NOT_SUPPORTED, error.message) from None


async def _arrive(
    accounts: Accounts,
    asked: Asked,
    flow: Flow,
    provider: str,
    person: ProviderUser,
    tokens: ProviderTokens,
    target: str,
) -> _Arrived:
    """Let a person in: by a session, or by the code of a PKCE flow; or only keep the account. Raises: AuthError."""
    new_id, deed, begun, code = None, _deed(flow), None, ""
    if deed is None:
        new_id = await linking.admit(accounts, provider, person, client=asked.device.address)
    trying = noted(accounts, asked, provider, subject="" if deed else person.subject)
    async with trying, accounts.transaction() as transaction:
        entry = await _entered(accounts, transaction, flow, provider, person, new_id, target)
        more = trail(accounts, asked, entry, provider, deed)
        if entry.refusal is None and flow.challenge is None:
            more += audit.login(accounts, asked, entry.user, provider, Method.OAUTH)
            granted = await accounts.begin_session(
                transaction, entry.user, Method.OAUTH, asked.device, more=more
            )
            begun = (await account.again(transaction, entry.user.id), granted)
        elif entry.refusal is None:
            code = await flow_state.complete(transaction, flow, entry.user.id, accounts.vault, tokens)
        if begun is None and more:
            await transaction.run(*more)
    return _Arrived(entry, begun, code)


async def _asked_provider(accounts: Accounts, back: _Back) -> tuple[Grant, ProviderUser]:
    """Give what the provider says of its user. Raises: AuthError, OAuthError."""
    provider, fields = back.provider, back.fields
    issuer = fields.get("iss")
    if issuer is not None and provider.issuer and issuer != provider.issuer:
        raise rejections.WRONG_ISSUER()
    arrival = Arrival(fields, callback_address(accounts, provider), back.kept.code_verifier, back.kept.secret)
    # A browser waits here: it shall read of the provider's silence before the request itself is given up.
    limit_s = float(accounts.settings.max_request_duration) * _SHARE_OF_TIME
    try:
        async with asyncio.timeout(limit_s):
            grant = await provider.exchange(arrival)
            return grant, await provider.user(grant, fields)
    except TimeoutError:
        raise AuthError(Code.UNEXPECTED_FAILURE, f"{provider.name} did not answer in time", 503) from None
    except ProviderFailed as error:
        if error.error:
            raise OAuthError(error.error, error.description) from None
        raise AuthError(Code.UNEXPECTED_FAILURE, error.description) from None


async def _entered(
    accounts: Accounts,
    transaction: Transaction,
    flow: Flow,
    provider: str,
    person: ProviderUser,
    new_id: UUID | None,
    target: str,
) -> Entry:
    if flow.linking_target_id is not None:
        return await joining.link(
            accounts, transaction, flow.linking_target_id, provider, person, target=target
        )
    if flow.invite_token:
        return await joining.accept_invite(accounts, transaction, flow.invite_token, provider, person)
    return await linking.enter(
        accounts,
        transaction,
        provider,
        person,
        is_email_optional=flow.email_optional,
        new_id=new_id,
        target=target,
    )


def _deed(flow: Flow) -> Action | None:
    """Give what is wanted besides entering, as the audit log calls it."""
    if flow.linking_target_id is not None:
        return Action.IDENTITY_LINKED
    return Action.INVITE_ACCEPTED if flow.invite_token else None


def _fields(asked: Asked) -> dict[str, str]:
    """Give the fields of the query and of a form, the first of each name; what no provider sends is left out."""
    texts = [asked.request.query]
    kind = (header(asked.request.headers, "content-type") or "").partition(";")[0].strip().lower()
    if asked.request.method == "POST" and kind == _FORM:
        texts.append(asked.body.decode("utf-8", "replace"))
    found: dict[str, str] = {}
    for text in texts:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            continue
        for name, value in pairs:
            if "\0" not in name + value:
                found.setdefault(name, value)
    return found
