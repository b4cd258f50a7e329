"""What is Discord's own: pictures."""

import pytest

from workers.auth.federation.providers.discord import picture_of, read_discord

CDN = "https://cdn.discordapp.com"


@pytest.mark.parametrize(
    ("profile", "picture"),
    [
        ({"id": "1", "avatar": "abc", "discriminator": "7"}, f"{CDN}/avatars/1/abc.png"),
        ({"id": "1", "avatar": "a_abc", "discriminator": "7"}, f"{CDN}/avatars/1/a_abc.gif"),
        ({"id": "1", "avatar": None, "discriminator": "1338"}, f"{CDN}/embed/avatars/3.png"),
        ({"id": "1", "avatar": None, "discriminator": "0"}, f"{CDN}/embed/avatars/0.png"),
        ({"id": "1", "discriminator": "x"}, f"{CDN}/embed/avatars/0.png"),
        ({"id": "1"}, f"{CDN}/embed/avatars/0.png"),
    ],
)
def test_everybody_has_a_picture(profile: dict[str, object], picture: str):
    assert picture_of(profile) == picture


@pytest.mark.parametrize("is_verified", [True, False])
def test_an_address_is_as_verified_as_discord_says(is_verified: bool):
    person = read_discord({"id": "1", "username": "ada", "email": "a@b.org", "verified": is_verified}, "i")

    assert [each.is_verified for each in person.emails] == [is_verified]
