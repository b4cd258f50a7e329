"""All keys that verify tokens, kept up to date for the doorkeeper: what changes them, and who is told."""

from broker.events import Following, follow
from broker.nats.connection import Connection
from broker.subjects import KEYS_CHANGED
from schemas.events import KeysChanged
from services.gateway.doorkeeper import Doorkeeper
from services.keys.foreign import ForeignKeys
from services.keys.own import OwnKeys


class Keyring:
    """Our own keys and those of foreign issuers."""

    def __init__(self, keeper: Doorkeeper, own: OwnKeys, foreign: ForeignKeys) -> None:
        self._keeper = keeper
        self._own = own
        self._foreign = foreign
        self._following: Following | None = None
        keeper.learn = self.learn

    async def start(self, connection: Connection) -> None:
        """Follow the file and the issuers from now on. Raises: Unavailable."""
        self._following = await follow(connection, KEYS_CHANGED, KeysChanged, self._hear)
        if self._own.watch is not None:
            self._own.watch.start(self.look)
        await self._foreign.start()

    async def close(self) -> None:
        """Follow nothing more."""
        if self._following is not None:
            await self._following.close()
        if self._own.watch is not None:
            await self._own.watch.stop()
        await self._foreign.close()

    async def learn(self, issuer: str) -> bool:
        """See whether there are new keys of an issuer, or of ours (the empty text); tell whether there are."""
        return await self._foreign.learn(issuer) if issuer else self.look()

    def look(self) -> bool:
        """See whether our own keys have changed; the doorkeeper has them then."""
        has_changed = self._own.look()
        if has_changed:
            self._keeper.use(self._own.keys)
        return has_changed

    async def _hear(self, _: KeysChanged) -> None:
        """The accounts have new keys: whatever was verified is verified anew."""
        if not self.look():
            self._keeper.use(self._own.keys)
