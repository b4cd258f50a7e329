"""Single sign-on by SAML 2.0: to the identity provider, and back. Source: reference page "auth", section 13."""

from datetime import timedelta
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import Limit, take
from workers.auth.accounts.passwords.login_failures import noted
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import linking
from workers.auth.context import Accounts
from workers.auth.delivery.email import landing
from workers.auth.federation.saml import account, providers
from workers.auth.federation.saml.assertion import Assertion, BadResponse, Wanted
from workers.auth.federation.saml.freshness import current
from workers.auth.federation.saml.providers import Provider, Saml, Visit
from workers.auth.federation.saml.request import authn_request, new_request_id, redirect_address
from workers.auth.federation.saml.response import believed, parse_response
from workers.auth.federation.saml.service_provider import ServiceProvider, own_metadata, service_provider
from workers.auth.federation.social import browsers
from workers.auth.federation.social.trail import trail
from workers.auth.flows import flow_state
from workers.auth.flows.captcha import check as check_captcha
from workers.auth.flows.pkce import Challenge, parse_challenge
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, refusal_of
from workers.auth.model.request import Asked, answer
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.interactive import Transaction

_LASTS, _LASTS_IN_A_FILE = timedelta(days=2), timedelta(days=5 * 365)
_KEPT_S, _KEPT_S_WHILE_KEYS_CHANGE = 600, 60


class Body(msgspec.Struct):
    """Where somebody wants to sign in, and where to come back to."""

    provider_id: str = ""
    domain: str = ""
    redirect_to: str = ""
    skip_http_redirect: bool = False
    code_challenge: str | None = None
    code_challenge_method: str | None = None


class Brought(msgspec.Struct):
    """What a browser brings from an identity provider."""

    response: str = msgspec.field(name="SAMLResponse", default="")
    relay_state: str = msgspec.field(name="RelayState", default="")


async def begin(accounts: Accounts, asked: Asked) -> Response:
    """Send a browser to its identity provider, or give the address. Raises: AuthError."""
    us, body = service_provider(accounts.settings), asked.read(Body)
    await take(accounts.database, Limit("sso", accounts.settings.rate_limit.sso), asked.device.address)
    await check_captcha(accounts, asked)
    if bool(body.provider_id) == bool(body.domain):
        raise rejections.SSO_TOO_MANY_NAMES() if body.domain else rejections.SSO_NO_NAME()
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    async with accounts.transaction() as transaction:
        provider = await _asked_for(transaction, body)
    saml = _usable(provider)
    destination = (await current(accounts, provider, saml)).redirect_url
    if not destination:
        raise AuthError(Code.VALIDATION_FAILED, "The identity provider takes no requests by HTTP-Redirect")
    target = target_of(accounts, asked, body.redirect_to)
    visit = await _visit(accounts, provider, target, challenge)
    message = authn_request(us, destination, visit.request_id, visit.created_at, saml.name_id_format)
    address = redirect_address(destination, message, str(visit.id), us.key)
    callback = f"{accounts.outbox.external_url.rstrip('/')}/callback"
    async with accounts.transaction() as transaction:
        # A program asks, and the browser goes: only the address that it opens can know it again.
        url = await browsers.wait(accounts, transaction, browsers.SAML, visit.id, address, callback)
    return answer({"url": url}) if body.skip_http_redirect else landing.redirect(url)


async def metadata(accounts: Accounts, asked: Asked) -> Response:
    """Give our metadata, to read or as a file. Raises: AuthError (404)."""
    us, is_file = service_provider(accounts.settings), asked.query("download") == "true"
    kept_s = _KEPT_S if len(us.keys) == 1 else _KEPT_S_WHILE_KEYS_CHANGE
    headers = [("content-type", "application/xml"), ("cache-control", f"public, max-age={kept_s}")]
    if is_file:
        headers.append(("content-disposition", 'attachment; filename="metadata.xml"'))
    return Response(200, headers, own_metadata(us, accounts.now(), _LASTS_IN_A_FILE if is_file else _LASTS))


async def acs(accounts: Accounts, asked: Asked) -> Response:
    """Take what an identity provider says of a user, and send the browser on: with a session, a code, or what is wrong.

    Raises: AuthError (404 if SAML is off, 429).
    """
    us, limit = service_provider(accounts.settings), accounts.settings.saml.rate_limit_assertion
    await take(accounts.database, Limit("saml_assertion", limit), asked.device.address)
    try:
        return landing.redirect(await _arrive(accounts, asked, us), 302)
    except AuthError as error:
        failure = error
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        failure = refusal_of(error)
    return landing.redirect(landing.failed(accounts.redirects.site_url, failure, in_query=True))


# --- There -------------------------------------------------------------------------------------------------------


async def _asked_for(transaction: Transaction, body: Body) -> Provider:
    if body.domain:
        domain = body.domain.strip().lower()
        found = None if "\0" in domain else await providers.find_by_domain(transaction, domain)
        if found is None:
            raise rejections.NO_SSO_DOMAIN()
        return found
    id = _uuid(body.provider_id)
    found = await providers.find(transaction, id) if id is not None else None
    if found is None:
        raise rejections.NO_SSO_PROVIDER()
    return found


def _usable(provider: Provider) -> Saml:
    if provider.saml is None:
        raise rejections.NO_SSO_PROVIDER()
    if provider.disabled:
        raise rejections.SSO_PROVIDER_DISABLED()
    return provider.saml


async def _visit(accounts: Accounts, provider: Provider, target: str, challenge: Challenge | None) -> Visit:
    """Keep what the browser is to bring back."""
    visit = Visit(uuid4(), provider.id, new_request_id(), accounts.now(), target)
    async with accounts.transaction() as transaction:
        if challenge is not None:
            method = Method.SSO_SAML.value
            flow = flow_state.NewFlow(method, method, challenge, referrer=target)
            visit = msgspec.structs.replace(visit, flow_state_id=await flow_state.begin(transaction, flow))
        await providers.begin_visit(transaction, visit)
    return visit


# --- And back ----------------------------------------------------------------------------------------------------


async def _arrive(accounts: Accounts, asked: Asked, us: ServiceProvider) -> str:
    """Give the address that tells how a sign-in ended. Raises: AuthError."""
    brought, now = asked.read(Brought), accounts.now()
    if not brought.response:
        raise AuthError(Code.VALIDATION_FAILED, "SAMLResponse is missing")
    try:
        response = parse_response(brought.response)
        async with accounts.transaction() as transaction:
            visit = await _visit_of(accounts, transaction, asked, brought.relay_state)
            provider = await _provider_of(transaction, visit, response.issuer)
        saml = _usable(provider)
        idp = await current(accounts, provider, saml)
        request_id = None if visit is None else visit.request_id
        wanted = Wanted(saml.entity_id, us.entity_id, us.acs_url, request_id, now)
        assertion = believed(response, idp, us, wanted)
    except BadResponse as error:
        raise rejections.SAML_RESPONSE_REFUSED(reason=error) from None
    target = accounts.redirects.target([brought.relay_state if visit is None else visit.redirect_to])
    return await _enter(accounts, asked, provider, saml, assertion, visit, target)


async def _visit_of(
    accounts: Accounts, transaction: Transaction, asked: Asked, relay_state: str
) -> Visit | None:
    """Give the visit that a browser comes back from; None if its identity provider sent it by itself.

    Raises: AuthError (400, 404, 422).
    """
    id = _uuid(relay_state)
    if id is None:
        if relay_state and "://" not in relay_state and not relay_state.startswith("/"):
            raise AuthError(Code.VALIDATION_FAILED, "SAML RelayState is not a valid UUID or URL")
        return None
    visit = await providers.find_visit(transaction, id)
    if visit is None:
        raise rejections.SAML_VISIT_NOT_FOUND()
    lasts = timedelta(seconds=float(accounts.settings.saml.relay_state_validity_period))
    if visit.is_older(lasts, accounts.now()):
        raise rejections.SAML_VISIT_EXPIRED()
    if not browsers.is_bound(asked, visit.browser_hash):
        raise rejections.SAML_VISIT_FOREIGN()
    return visit


async def _provider_of(transaction: Transaction, visit: Visit | None, issuer: str) -> Provider:
    """Give the provider that was visited, else the one that says it writes: its keys are what counts."""
    if visit is not None:
        found = await providers.find(transaction, visit.sso_provider_id)
    else:
        found = await providers.find_by_entity_id(transaction, issuer)
    if found is None or found.saml is None:
        raise rejections.SAML_IDP_NOT_FOUND()
    return found


async def _enter(
    accounts: Accounts,
    asked: Asked,
    provider: Provider,
    saml: Saml,
    assertion: Assertion,
    visit: Visit | None,
    target: str,
) -> str:
    """Let a user in whose assertion is believed, once. Raises: AuthError."""
    person, ends_at, code, granted = account.person_of(assertion, saml), assertion.session_ends_at, "", None
    client = asked.device.address
    new_id = await linking.admit(accounts, provider.name, person, client=client)
    trying = noted(accounts, asked, provider.name, subject=person.subject)
    async with trying, accounts.transaction() as transaction:
        if visit is not None and not await providers.end_visit(transaction, visit.id):
            raise rejections.SAML_VISIT_NOT_FOUND()
        used = (saml.entity_id, assertion.id, assertion.expires_at, accounts.now())
        if not await providers.use_assertion(transaction, *used):
            raise rejections.SAML_RESPONSE_REFUSED(reason="it was used before")
        entry = await account.enter(accounts, transaction, provider, person, new_id)
        more = trail(accounts, asked, entry, provider.name)
        if entry.refusal is None and visit is not None and visit.flow_state_id is not None:
            flow = await flow_state.find(transaction, visit.flow_state_id)
            if flow is None:
                raise rejections.FLOW_STATE_NOT_FOUND()
            code = await flow_state.complete(
                transaction, flow, entry.user.id, accounts.vault, session_not_after=ends_at
            )
        elif entry.refusal is None:
            more += audit.login(accounts, asked, entry.user, provider.name, Method.SSO_SAML)
            granted = await accounts.begin_session(
                transaction, entry.user, Method.SSO_SAML, asked.device, not_after=ends_at, more=more
            )
        if granted is None and more:
            await transaction.run(*more)
    await entry.tell(accounts, client)
    if granted is None:
        return landing.with_code(target, code)
    return landing.granted(target, await accounts.session_shown(entry.user, granted), {})


def _uuid(text: str) -> UUID | None:
    """Read a UUID in its usual form only."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None
