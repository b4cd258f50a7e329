"""Which account a person enters: the rules alone."""

import uuid

import pytest

from tests.workers.auth.federation.social.people import claimed, person, verified
from workers.auth.accounts.users.identities import AddressHolder
from workers.auth.federation.social.decision import (
    CreateDecision,
    LinkDecision,
    LinkingRules,
    SignInDecision,
    decide,
    identity_data,
    normalize_user,
)
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import UserIdentity

RULES = LinkingRules()
CONFIRMED_AT_ONCE = LinkingRules(trusts_all=True)
A, B = uuid.UUID(int=1), uuid.UUID(int=2)
MINE = "me@example.org"


def holder(
    user: uuid.UUID, provider: str = "", *, is_proven: bool = True, is_confirmed: bool = True
) -> AddressHolder:
    return AddressHolder(user, MINE, provider, is_proven, is_confirmed)


def decided(
    who: ProviderUser, *holders: AddressHolder, rules: LinkingRules = RULES, provider: str = "github"
) -> object:
    return decide(provider, normalize_user(who), None, holders, rules)


def test_a_known_identity_is_its_users():
    known = UserIdentity(uuid.uuid4(), A, "github", "1", {})

    assert decide("github", person(verified(MINE)), known, [holder(B)], RULES) == SignInDecision(known)


@pytest.mark.parametrize("provider", ["", "gitlab", "custom:acme"])
def test_a_verified_address_leads_to_who_has_proven_it(provider: str):
    assert decided(person(verified(MINE)), holder(A, provider)) == LinkDecision(A)


def test_an_address_that_is_not_verified_leads_to_nobody():
    assert decided(person(claimed(MINE)), holder(A)) == CreateDecision(None)
    assert decided(person(claimed(MINE)), holder(A, "gitlab")) == CreateDecision(claimed(MINE))
    assert decided(person(claimed(MINE))) == CreateDecision(claimed(MINE))


def test_it_leads_nowhere_even_where_accounts_are_confirmed_at_once():
    assert decided(person(claimed(MINE)), holder(A), rules=CONFIRMED_AT_ONCE) == CreateDecision(None)
    assert decided(
        person(verified(MINE)), holder(A, "gitlab", is_proven=False), rules=CONFIRMED_AT_ONCE
    ) == CreateDecision(verified(MINE))  # fmt: skip


def test_what_another_provider_has_not_verified_leads_nowhere():
    """Or whoever links an identity with a foreign address waits there for its owner."""
    assert decided(person(verified(MINE)), holder(A, "gitlab", is_proven=False)) == CreateDecision(
        verified(MINE)
    )


def test_who_has_proven_an_address_comes_before_who_has_not():
    weak = holder(B, is_proven=False, is_confirmed=False)

    assert decided(person(verified(MINE)), weak, holder(A, "gitlab")) == LinkDecision(A)
    assert decided(person(verified(MINE)), weak) == LinkDecision(B)


def test_an_account_that_has_proven_something_else_gives_the_address_up():
    weak = holder(B, is_proven=False, is_confirmed=True)

    assert decided(person(verified(MINE)), weak) == CreateDecision(verified(MINE), (B,))
    assert decided(person(claimed(MINE)), weak) == CreateDecision(None)


def test_several_accounts_are_refused():
    with pytest.raises(AuthError) as raised:
        decided(person(verified(MINE)), holder(A), holder(B, "gitlab"))

    assert (raised.value.status, raised.value.code) == (500, "unexpected_failure")


def test_nobody_new_is_let_in_while_sign_ups_are_disabled():
    rules = LinkingRules(allows_sign_up=False)

    assert decided(person(verified(MINE)), holder(A), rules=rules) == LinkDecision(A)
    with pytest.raises(AuthError, match="Signups not allowed"):
        decided(person(verified(MINE)), rules=rules)


def test_single_sign_on_is_a_domain_of_its_own():
    who = person(verified(MINE))

    assert decided(who, holder(A), holder(B, "github"), provider="sso:1") == CreateDecision(verified(MINE))
    assert decided(who, holder(A, "sso:2"), provider="sso:1") == CreateDecision(verified(MINE))
    assert decided(who, holder(A, "sso:1"), provider="sso:1") == LinkDecision(A)
    assert decided(who, holder(A, "sso:1"), provider="github") == CreateDecision(verified(MINE))


def test_the_settings_put_providers_into_domains():
    rules = LinkingRules(domains={"gitlab": "work", "azure": "work"})
    who = person(verified(MINE))

    assert decided(who, holder(A), provider="gitlab", rules=rules) == CreateDecision(None)
    assert decided(who, holder(A, "github"), provider="gitlab", rules=rules) == CreateDecision(verified(MINE))
    assert decided(who, holder(A, "azure"), provider="gitlab", rules=rules) == LinkDecision(A)
    assert decided(who, holder(A, "azure"), provider="github", rules=rules) == CreateDecision(verified(MINE))


def test_addresses_are_read_as_ours_are():
    odd = person(
        claimed("Other@Example.org"), verified("ME@example.org"), claimed("me@example.org"),
        verified("no address"), verified("me@exam ple.org"), verified("me@exámple.org"), verified(""),
        verified("\u212aelvin@example.org"),
    )  # fmt: skip

    assert normalize_user(odd).emails == (verified("me@example.org"), claimed("other@example.org"))
    assert len(normalize_user(person(*(verified(f"{n}@example.org") for n in range(100)))).emails) == 20


def test_identity_data_have_the_names_that_applications_read():
    told = person(
        verified(MINE),
        subject="7",
        name="Ada",
        picture="p",
        sub="x",
        email="other@example.org",
        nickname=None,
    )

    assert identity_data(told, told.primary) == {
        "sub": "7", "provider_id": "7", "name": "Ada", "full_name": "Ada", "picture": "p", "avatar_url": "p",
        "email": MINE, "email_verified": True, "phone_verified": False,
    }  # fmt: skip
    assert "email" not in identity_data(person(email=MINE, email_verified=True), None)
