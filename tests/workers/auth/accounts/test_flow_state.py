from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.workers.auth.auth_pool import AuthPool
from workers.auth.accounts import flow_state
from workers.auth.accounts.flow_state import FlowState, NewFlowState, ProviderTokens
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import ChallengeMethod, CodeChallenge, new_verifier, s256

LASTS = timedelta(minutes=5)


async def begun(auth_pool: AuthPool, new: NewFlowState) -> FlowState:
    async with auth_pool.context.transaction() as transaction:
        await flow_state.begin(transaction, new)
        flow = await flow_state.find(transaction, new.id)
    assert flow is not None
    return flow


async def completed(
    auth_pool: AuthPool, flow: FlowState, user: UUID, tokens: ProviderTokens | None = None
) -> str:
    async with auth_pool.context.transaction() as transaction:
        return await flow_state.complete(transaction, flow, user, auth_pool.context.vault, tokens)


async def taken(auth_pool: AuthPool, code: str) -> FlowState | None:
    async with auth_pool.context.transaction() as transaction:
        return await flow_state.take(transaction, code)


def with_verifier() -> tuple[NewFlowState, str]:
    verifier = new_verifier()
    return NewFlowState("email", "magiclink", CodeChallenge(ChallengeMethod.S256, s256(verifier))), verifier


async def test_a_flow_is_found_as_it_was_begun(auth_pool: AuthPool):
    new = NewFlowState(
        "github",
        "oauth",
        CodeChallenge(ChallengeMethod.PLAIN, "x" * 43),
        referrer="https://app.example.org/in",
        invite_token="i",
        oauth_client_state_id=uuid4(),
        linking_target_id=uuid4(),
        is_email_optional=True,
    )

    flow = await begun(auth_pool, new)

    assert flow.challenge == new.challenge
    assert (flow.provider_type, flow.authentication_method) == ("github", "oauth")
    assert (flow.referrer, flow.invite_token) == (new.referrer, "i")
    assert (flow.oauth_client_state_id, flow.linking_target_id) == (
        new.oauth_client_state_id,
        new.linking_target_id,
    )
    assert flow.email_optional
    assert flow.user_id is None


async def test_an_implicit_flow_has_no_challenge(auth_pool: AuthPool):
    flow = await begun(auth_pool, NewFlowState("github", "oauth"))

    assert flow.challenge is None
    with pytest.raises(AuthError, match="code verifier"):
        flow_state.check(flow, "v", LASTS, auth_pool.context.now())


async def test_a_link_completes_the_newest_flow_of_its_user_and_kind(auth_pool: AuthPool):
    user = uuid4()
    older, newer = (
        NewFlowState("email", "magiclink", CodeChallenge(ChallengeMethod.PLAIN, email * 43), user_id=user)
        for email in "ab"
    )
    other = NewFlowState("email", "recovery", CodeChallenge(ChallengeMethod.PLAIN, "c" * 43), user_id=user)
    for new in (older, newer, other):
        await begun(auth_pool, new)

    async with auth_pool.context.transaction() as transaction:
        found = await flow_state.find_waiting(transaction, user, "magiclink")
        nobody = await flow_state.find_waiting(transaction, uuid4(), "magiclink")

    assert found is not None
    assert found.id == newer.id
    assert nobody is None
