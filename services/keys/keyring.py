"""Keep all keys that verify tokens up to date in the gateway's authenticator.

Keys change when the file of signing keys changes, when the auth pool announces new keys, and when an issuer publishes others.
"""

from broker.events import EventSubscription, subscribe_events
from broker.nats.connection import NatsConnection
from broker.subjects import KEYS_CHANGED
from schemas.events import KeysChanged
from services.gateway.requests.authentication import Authenticator
from services.keys.platform_keys import PlatformKeys
from services.keys.third_party_keys import ThirdPartyKeys


class GatewayKeyring:
    """The platform's own keys and those of third-party issuers."""

    def __init__(
        self, authenticator: Authenticator, platform_keys: PlatformKeys, third_party: ThirdPartyKeys
    ) -> None:
        self._authenticator = authenticator
        self._platform_keys = platform_keys
        self._third_party = third_party
        self._following: EventSubscription | None = None
        authenticator.learn = self.learn

    async def start(self, connection: NatsConnection) -> None:
        """Start watching the file, the auth pool's events and the issuers. Raises: Unavailable."""
        self._following = await subscribe_events(connection, KEYS_CHANGED, KeysChanged, self._on_keys_changed)
        if self._platform_keys.watch is not None:
            self._platform_keys.watch.start(self.reload_if_changed)
        await self._third_party.start()

    async def close(self) -> None:
        """Stop watching."""
        if self._following is not None:
            await self._following.close()
        if self._platform_keys.watch is not None:
            await self._platform_keys.watch.stop()
        await self._third_party.close()

    async def learn(self, issuer: str) -> bool:
        """Look for new keys of an issuer, or of ours (the empty text); return whether there are any."""
        return await self._third_party.learn(issuer) if issuer else self.reload_if_changed()

    def reload_if_changed(self) -> bool:
        """Check whether our own keys have changed, and pass new ones to the authenticator."""
        has_changed = self._platform_keys.reload_if_changed()
        if has_changed:
            self._authenticator.use(self._platform_keys.keys)
        return has_changed

    async def _on_keys_changed(self, _: KeysChanged) -> None:
        """Discard all verified tokens, because the auth pool has new keys."""
        if not self.reload_if_changed():
            self._authenticator.use(self._platform_keys.keys)
