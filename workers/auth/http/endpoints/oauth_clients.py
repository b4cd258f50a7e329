"""Clients of the OAuth server in the hands of trusted servers. Source: reference page "auth", sections 15 and 16.8."""

from uuid import UUID

from schemas.http import Response
from workers.auth.context import Accounts
from workers.auth.delivery.email.pages import page_headers, read_page
from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.clients import Client, client_shown
from workers.auth.federation.oauth_server.registration import ClientBody, Registration, read_registration
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.http.endpoints.present import refuse_unless_admin
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import Asked, answer
from workers.database.interactive import Transaction


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List clients, the newest first. Raises: AuthError."""
    await _refuse(accounts, asked)
    page = read_page(asked)
    async with accounts.transaction() as transaction:
        found, total = await clients.page(transaction, limit=page.size, offset=page.offset)
    shown = {"clients": [client_shown(each) for each in found]}
    return answer(shown, 200, *page_headers(asked.request.path, page, total, {}))


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Make a client. Its secret is told here and never again. Raises: AuthError."""
    await _refuse(accounts, asked)
    told = _told(asked)
    async with accounts.transaction() as transaction:
        made = await clients.register(transaction, told, is_dynamic=False)
    return answer(client_shown(made.client, made.secret), 201)


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give a client. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        client = await clients.find(transaction, _id(asked))
    if client is None:
        raise rejections.CLIENT_NOT_FOUND()
    return answer(client_shown(client))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change what is given of a client. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        client = await _locked(transaction, asked)
        changed = await clients.change(transaction, client.id, _told(asked, client.registration))
    return answer(client_shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Delete a client; its sessions end. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        if not await clients.delete(transaction, _id(asked)):
            raise rejections.CLIENT_NOT_FOUND()
    return Response(204)


async def regenerate_secret(accounts: Accounts, asked: Asked) -> Response:
    """Give a confidential client another secret. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        client = await _locked(transaction, asked)
        if client.registration.is_public:
            raise AuthError(Code.VALIDATION_FAILED, "A public client has no secret")
        made = await clients.renew_secret(transaction, client.id)
    return answer(client_shown(made.client, made.secret))


async def _refuse(accounts: Accounts, asked: Asked) -> None:
    refuse_unless_on(accounts)
    await refuse_unless_admin(accounts, asked)


def _told(asked: Asked, old: Registration | None = None) -> Registration:
    try:
        return read_registration(asked.read(ClientBody), old, is_own=True)
    except OAuthError as error:
        raise AuthError(Code.VALIDATION_FAILED, error.description) from None


async def _locked(transaction: Transaction, asked: Asked) -> Client:
    client = await clients.lock(transaction, _id(asked))
    if client is None:
        raise rejections.CLIENT_NOT_FOUND()
    return client


def _id(asked: Asked) -> UUID:
    try:
        return UUID(asked.parameters["id"])
    except ValueError:
        raise AuthError(Code.VALIDATION_FAILED, "client_id must be an UUID", 404) from None
