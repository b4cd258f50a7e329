"""GET and POST /callback: a browser comes back from a provider. `callback` runs the steps in this order:

    read the fields      query and form                                                        -> dict
    claim the state      once, by the browser that began it (`social/states.py`)               -> ClaimedState
    fetch the profile    code for tokens, tokens for the profile (`providers/exchange.py`)     -> ProviderProfile
    sign in              choose the account: sign in, link, create or refuse; write it, with the session or the PKCE code,
                         in one transaction (`flows/external_sign_in.py`, `flows/identity_linking.py`)   -> _SignInResult
    redirect             303 to the site if the state is not valid, else 302 to where the flow wanted

The response is a redirect in every case, errors included: a person looks at this page. Before the state is claimed its
redirect target cannot be trusted, so such an error goes to the site's own URL. Apple answers with a form
(OAuth 2.0 Form Post Response Mode), hence POST.
Source: docs/reference/auth.md, sections 11.2 and 11.3; RFC 6749, 4.1.2; RFC 9207.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl
from uuid import UUID

from schemas.http import Response, header
from workers.auth.accounts import audit, flow_state
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.flow_state import FlowState
from workers.auth.accounts.passwords.login_failures import failures_logged
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.accounts.users import account_changes
from workers.auth.federation.providers.exchange import ProviderProfile, fetch_profile
from workers.auth.federation.social import states
from workers.auth.federation.social.states import ClaimedState
from workers.auth.flows import external_sign_in, identity_linking
from workers.auth.flows.external_sign_in import ExternalSignIn
from workers.auth.flows.sign_in_audit import sign_in_entries
from workers.auth.http import landing
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.authorize import sign_in_target
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import AuthError, OAuthError, error_from_database
from workers.auth.model.redirects.allow_list import with_fragment, with_query
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import Transaction

_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 100


@dataclass(frozen=True, slots=True)
class _SignInResult:
    """What was written: the account, and a session, or the code of a PKCE flow, or neither if the account has a refusal."""

    account: ExternalSignIn
    session: tuple[AuthUser, SessionGrant] | None
    code: str = field(repr=False)


async def callback(context: EndpointContext, request: AuthRequest) -> Response:
    """Finish the sign-in of a browser that comes back from a provider. Errors are redirects, too."""
    fields = _read_fields(request)
    try:
        state = await _claim_state(context, request, fields)
    except AuthError as error:
        return _redirect_to_site(context, error)
    target = sign_in_target(context, [state.flow.referrer])
    try:
        profile = await fetch_profile(context, state, fields)
        result = await _sign_in(context, request, state.flow, profile, target)
        url = await _result_url(context, request, profile, result, target)
    except OAuthError as error:
        members = {"error": error.error, "error_description": error.description}
        url = with_fragment(with_query(target, members), members)
    except AuthError as error:
        url = landing.error_url(target, error, in_query=True)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        url = landing.error_url(target, error_from_database(error), in_query=True)
    return landing.redirect(url, 302)


def _read_fields(request: AuthRequest) -> dict[str, str]:
    """Read the fields of the query and of a form, the first of each name. Values that Postgres cannot store are dropped."""
    texts = [request.http.query]
    media_type = (header(request.http.headers, "content-type") or "").partition(";")[0].strip().lower()
    if request.http.method == "POST" and media_type == _FORM:
        texts.append(request.body.decode("utf-8", "replace"))
    fields: dict[str, str] = {}
    for text in texts:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError:
            continue
        for name, value in pairs:
            if "\0" not in name + value:
                fields.setdefault(name, value)
    return fields


async def _claim_state(
    context: EndpointContext, request: AuthRequest, fields: Mapping[str, str]
) -> ClaimedState:
    """Claim the state that the browser brings. Raises: AuthError (400, 422)."""
    if not fields.get("state"):
        raise rejections.NO_STATE()
    async with context.transaction() as transaction:
        return await states.claim(context, transaction, request, fields["state"])


async def _sign_in(
    context: EndpointContext, request: AuthRequest, flow: FlowState, profile: ProviderProfile, target: str
) -> _SignInResult:
    """Sign a user in, link his identity or create his account, and write the session or the code. Raises: AuthError."""
    purpose, provider, client = _purpose_of(flow), profile.provider, request.device.address
    new_id = None
    if purpose is None:  # the hook may take seconds: asked before the transaction
        new_id = await external_sign_in.ask_hook(context, provider, profile.user, client=client)
    subject = "" if purpose else profile.user.subject
    async with (
        failures_logged(context, request, provider, subject=subject),
        context.sending(external_sign_in.EMAIL) as transaction,
    ):
        account = await _choose_account(context, transaction, flow, profile, new_id, target)
        entries = sign_in_entries(context, request, account, provider, purpose)
        if account.rejection is not None:  # the account is stored, without a session, until it is confirmed
            if entries:
                await transaction.run(*entries)
            await account.confirm(context, transaction)
            return _SignInResult(account, None, "")
        if flow.challenge is not None:  # PKCE: the application exchanges a code for the session
            if entries:
                await transaction.run(*entries)
            code = await flow_state.complete(
                transaction, flow, account.user.id, context.vault, profile.tokens
            )
            return _SignInResult(account, None, code)
        entries += audit.login(context, request, account.user, provider, SignInMethod.OAUTH)
        grant = await context.start_session(
            transaction, account.user, SignInMethod.OAUTH, request.device, more=entries
        )
        user = await account_changes.reload(transaction, account.user.id)
        return _SignInResult(account, (user, grant), "")


async def _choose_account(
    context: EndpointContext,
    transaction: Transaction,
    flow: FlowState,
    profile: ProviderProfile,
    new_id: UUID | None,
    target: str,
) -> ExternalSignIn:
    """Link to the flow's user, accept its invitation, or else find or create the account of the identity."""
    if flow.linking_target_id is not None:
        return await identity_linking.link(
            context, transaction, flow.linking_target_id, profile.provider, profile.user, target=target
        )
    if flow.invite_token:
        return await identity_linking.accept_invite(
            context, transaction, flow.invite_token, profile.provider, profile.user
        )
    return await external_sign_in.sign_in(
        context,
        transaction,
        profile.provider,
        profile.user,
        is_email_optional=flow.email_optional,
        new_id=new_id,
        target=target,
    )


def _purpose_of(flow: FlowState) -> AuditAction | None:
    """Return the audit action of a flow that is more than a sign-in."""
    if flow.linking_target_id is not None:
        return AuditAction.IDENTITY_LINKED
    return AuditAction.INVITE_ACCEPTED if flow.invite_token else None


async def _result_url(
    context: EndpointContext,
    request: AuthRequest,
    profile: ProviderProfile,
    result: _SignInResult,
    target: str,
) -> str:
    """Send the emails of a sign-in and return the URL that carries its session or its code. Raises: AuthError, the refusal."""
    await result.account.tell(context, request.device.address)
    if result.session is None:
        return landing.code_url(target, result.code)
    session = await context.session_json(*result.session)
    tokens = {"provider_token": profile.tokens.access, "provider_refresh_token": profile.tokens.refresh}
    return landing.session_url(target, session, tokens)


def _redirect_to_site(context: EndpointContext, error: AuthError) -> Response:
    members = {
        "error": landing.error_name(error.status),
        "error_code": error.code.value,
        "error_description": error.message,
    }
    return landing.redirect(with_query(context.settings.site_url, members), 303)
