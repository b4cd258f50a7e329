"""Single sign-on by SAML 2.0: the request to the identity provider, and the assertion consumer service for its response. Source: docs/reference/auth.md, section 13."""

from datetime import timedelta
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit, flow_state
from workers.auth.accounts.passwords.login_failures import failures_logged
from workers.auth.federation.saml import providers
from workers.auth.federation.saml.assertion import BadResponse, ExpectedAssertion, SamlAssertion
from workers.auth.federation.saml.metadata_refresh import current_metadata
from workers.auth.federation.saml.providers import RelayState, SamlRegistration, SsoProvider
from workers.auth.federation.saml.request import authn_request, new_request_id, redirect_address
from workers.auth.federation.saml.response import parse_response, verify_response
from workers.auth.federation.saml.service_provider import ServiceProvider, own_metadata, service_provider
from workers.auth.federation.social import browsers
from workers.auth.flows import external_sign_in, saml_sign_in
from workers.auth.flows.captcha import check as check_captcha
from workers.auth.flows.sign_in_audit import sign_in_entries
from workers.auth.http import landing
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, error_from_database
from workers.auth.model.pkce import CodeChallenge, parse_challenge
from workers.auth.model.rate_limits import RequestLimit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import Transaction

_LASTS, _LASTS_IN_A_FILE = timedelta(days=2), timedelta(days=5 * 365)
_CACHED_S, _CACHED_S_WHILE_KEYS_CHANGE = 600, 60


class SsoBody(msgspec.Struct):
    """The body of a sign-in: the provider, by id or email domain, and where to come back to."""

    provider_id: str = ""
    domain: str = ""
    redirect_to: str = ""
    skip_http_redirect: bool = False
    code_challenge: str | None = None
    code_challenge_method: str | None = None


class SamlForm(msgspec.Struct):
    """The form that a browser brings from an identity provider."""

    response: str = msgspec.field(name="SAMLResponse", default="")
    relay_state: str = msgspec.field(name="RelayState", default="")


async def begin(context: EndpointContext, request: AuthRequest) -> Response:
    """Redirect a browser to its identity provider, or return the URL. Raises: AuthError."""
    us, body = service_provider(context.settings), request.read(SsoBody)
    await count_request(
        context.database, RequestLimit("sso", context.settings.rate_limit.sso), request.device.address
    )
    await check_captcha(context, request)
    if bool(body.provider_id) == bool(body.domain):
        raise rejections.SSO_TOO_MANY_NAMES() if body.domain else rejections.SSO_NO_NAME()
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    async with context.transaction() as transaction:
        provider = await _find_provider(transaction, body)
    saml = _saml_of(provider)
    destination = (await current_metadata(context, provider, saml)).redirect_url
    if not destination:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "The identity provider takes no requests by HTTP-Redirect"
        )
    target = redirect_target(context, request, body.redirect_to)
    relay_state = await _store_relay_state(context, provider, target, challenge)
    message = authn_request(
        us, destination, relay_state.request_id, relay_state.created_at, saml.name_id_format
    )
    address = redirect_address(destination, message, str(relay_state.id), us.key)
    callback = f"{context.outbox.external_url.rstrip('/')}/callback"
    async with context.transaction() as transaction:
        # The client of this request may be a program: only the URL that the browser opens can set its cookie.
        url = await browsers.store_destination(
            context, transaction, browsers.SAML, relay_state.id, address, callback
        )
    return json_response({"url": url}) if body.skip_http_redirect else landing.redirect(url)


async def metadata(context: EndpointContext, request: AuthRequest) -> Response:
    """Return our metadata, inline or as a download. Raises: AuthError (404)."""
    us, is_file = service_provider(context.settings), request.query("download") == "true"
    cached_s = _CACHED_S if len(us.keys) == 1 else _CACHED_S_WHILE_KEYS_CHANGE
    headers = [("content-type", "application/xml"), ("cache-control", f"public, max-age={cached_s}")]
    if is_file:
        headers.append(("content-disposition", 'attachment; filename="metadata.xml"'))
    return Response(200, headers, own_metadata(us, context.now(), _LASTS_IN_A_FILE if is_file else _LASTS))


async def acs(context: EndpointContext, request: AuthRequest) -> Response:
    """Verify the response of an identity provider, and redirect the browser with a session, a code, or an error.

    Raises: AuthError (404 if SAML is disabled, 429).
    """
    us, limit = service_provider(context.settings), context.settings.saml.rate_limit_assertion
    await count_request(context.database, RequestLimit("saml_assertion", limit), request.device.address)
    try:
        return landing.redirect(await _consume_response(context, request, us), 302)
    except AuthError as error:
        failure = error
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        failure = error_from_database(error)
    return landing.redirect(landing.error_url(context.redirects.site_url, failure, in_query=True))


# --- Request -------------------------------------------------------------------------------------------------------


async def _find_provider(transaction: Transaction, body: SsoBody) -> SsoProvider:
    if body.domain:
        domain = body.domain.strip().lower()
        provider = None if "\0" in domain else await providers.find_by_domain(transaction, domain)
        if provider is None:
            raise rejections.NO_SSO_DOMAIN()
        return provider
    id = _uuid(body.provider_id)
    provider = await providers.find(transaction, id) if id is not None else None
    if provider is None:
        raise rejections.NO_SSO_PROVIDER()
    return provider


def _saml_of(provider: SsoProvider) -> SamlRegistration:
    if provider.saml is None:
        raise rejections.NO_SSO_PROVIDER()
    if provider.disabled:
        raise rejections.SSO_PROVIDER_DISABLED()
    return provider.saml


async def _store_relay_state(
    context: EndpointContext, provider: SsoProvider, target: str, challenge: CodeChallenge | None
) -> RelayState:
    """Store the relay state that the browser will bring back."""
    relay_state = RelayState(uuid4(), provider.id, new_request_id(), context.now(), target)
    async with context.transaction() as transaction:
        if challenge is not None:
            method = SignInMethod.SSO_SAML.value
            flow = flow_state.NewFlowState(method, method, challenge, referrer=target)
            relay_state = msgspec.structs.replace(
                relay_state, flow_state_id=await flow_state.begin(transaction, flow)
            )
        await providers.add_relay_state(transaction, relay_state)
    return relay_state


# --- Response ----------------------------------------------------------------------------------------------------


async def _consume_response(context: EndpointContext, request: AuthRequest, us: ServiceProvider) -> str:
    """Verify the response, sign the user in, and return the URL with the result. Raises: AuthError."""
    form, now = request.read(SamlForm), context.now()
    if not form.response:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "SAMLResponse is missing")
    try:
        response = parse_response(form.response)
        async with context.transaction() as transaction:
            relay_state = await _relay_state_of(context, transaction, request, form.relay_state)
            provider = await _provider_of(transaction, relay_state, response.issuer)
        saml = _saml_of(provider)
        idp = await current_metadata(context, provider, saml)
        request_id = None if relay_state is None else relay_state.request_id
        expected = ExpectedAssertion(saml.entity_id, us.entity_id, us.acs_url, request_id, now)
        assertion = verify_response(response, idp, us, expected)
    except BadResponse as error:
        raise rejections.SAML_RESPONSE_INVALID(reason=error) from None
    target = context.redirects.target([form.relay_state if relay_state is None else relay_state.redirect_to])
    return await _sign_in(context, request, provider, saml, assertion, relay_state, target)


async def _relay_state_of(
    context: EndpointContext, transaction: Transaction, request: AuthRequest, text: str
) -> RelayState | None:
    """Return the relay state of a response; None if the identity provider began the sign-in itself.

    Raises: AuthError (400, 404, 422).
    """
    id = _uuid(text)
    if id is None:
        if text and "://" not in text and not text.startswith("/"):
            raise AuthError(ErrorCode.VALIDATION_FAILED, "SAML RelayState is not a valid UUID or URL")
        return None
    relay_state = await providers.find_relay_state(transaction, id)
    if relay_state is None:
        raise rejections.RELAY_STATE_NOT_FOUND()
    lasts = timedelta(seconds=float(context.settings.saml.relay_state_validity_period))
    if relay_state.is_older(lasts, context.now()):
        raise rejections.RELAY_STATE_EXPIRED()
    if not browsers.is_bound(request, relay_state.browser_hash):
        raise rejections.RELAY_STATE_OF_OTHER_BROWSER()
    return relay_state


async def _provider_of(transaction: Transaction, relay_state: RelayState | None, issuer: str) -> SsoProvider:
    """Return the provider of the relay state, else the one the response names: it must be signed by that one's keys."""
    if relay_state is not None:
        provider = await providers.find(transaction, relay_state.sso_provider_id)
    else:
        provider = await providers.find_by_entity_id(transaction, issuer)
    if provider is None or provider.saml is None:
        raise rejections.SAML_IDP_NOT_FOUND()
    return provider


async def _sign_in(
    context: EndpointContext,
    request: AuthRequest,
    provider: SsoProvider,
    saml: SamlRegistration,
    assertion: SamlAssertion,
    relay_state: RelayState | None,
    target: str,
) -> str:
    """Sign in the user of a verified assertion, which is used up. Raises: AuthError."""
    person, ends_at, code, grant = (
        saml_sign_in.external_user(assertion, saml),
        assertion.session_ends_at,
        "",
        None,
    )
    client = request.device.address
    new_id = await external_sign_in.ask_hook(context, provider.name, person, client=client)
    trying = failures_logged(context, request, provider.name, subject=person.subject)
    async with trying, context.sending(external_sign_in.EMAIL) as transaction:
        if relay_state is not None and not await providers.use_relay_state(transaction, relay_state.id):
            raise rejections.RELAY_STATE_NOT_FOUND()
        used = (saml.entity_id, assertion.id, assertion.expires_at, context.now())
        if not await providers.use_assertion(transaction, *used):
            raise rejections.SAML_RESPONSE_INVALID(reason="it was used before")
        entry = await saml_sign_in.sign_in(context, transaction, provider, person, new_id)
        more = sign_in_entries(context, request, entry, provider.name)
        if entry.rejection is None and relay_state is not None and relay_state.flow_state_id is not None:
            flow = await flow_state.find(transaction, relay_state.flow_state_id)
            if flow is None:
                raise rejections.FLOW_STATE_NOT_FOUND()
            code = await flow_state.complete(
                transaction, flow, entry.user.id, context.vault, session_not_after=ends_at
            )
        elif entry.rejection is None:
            more += audit.login(context, request, entry.user, provider.name, SignInMethod.SSO_SAML)
            grant = await context.start_session(
                transaction, entry.user, SignInMethod.SSO_SAML, request.device, not_after=ends_at, more=more
            )
        if grant is None and more:
            await transaction.run(*more)
        await entry.confirm(context, transaction)
    await entry.tell(context, client)
    if grant is None:
        return landing.code_url(target, code)
    return landing.session_url(target, await context.session_json(entry.user, grant), {})


def _uuid(text: str) -> UUID | None:
    """Parse a UUID, in its canonical form only."""
    try:
        id = UUID(text)
    except ValueError:
        return None
    return id if str(id) == text.lower() else None
