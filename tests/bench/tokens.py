"""CPU time of the gateway for one request's key and token: kept tokens, new ones, and API keys alone.

python -m tests.bench.tokens
"""

import json
import time
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from schemas.keys.secret import Secret
from schemas.settings.tree import Auth, Settings
from services.app import build_authenticator
from services.gateway.requests.routes import route_of
from services.supervisor.api_keys import keys_of

_NOW = time.time()
_FEW = 2_000
_TIMES = 200_000
_BEST_OF = 7


def best_us(work: Callable[[], object], times: int) -> float:
    """Give the microseconds of one call, the best of several runs."""
    found = []
    for _ in range(_BEST_OF):
        began = time.process_time()
        for _ in range(times):
            work()
        found.append((time.process_time() - began) / times * 1e6)
    return min(found)


def _claims() -> dict[str, object]:
    return {
        "aud": "authenticated", "exp": int(_NOW) + 3600, "iat": int(_NOW), "sub": "6f3b4c1e-0000-4000-8000-000000000000",
        "email": "ada@example.com", "role": "authenticated", "aal": "aal1", "iss": "http://127.0.0.1:54321/auth/v1",
        "session_id": "6f3b4c1e-0000-4000-8000-000000000001", "app_metadata": {"provider": "email"},
    }  # fmt: skip


def main() -> None:
    """Print the figures."""
    private = ec.generate_private_key(ec.SECP256R1())
    jwk = {**json.loads(ECAlgorithm.to_jwk(private)), "kid": "k1", "alg": "ES256", "key_ops": ["sign"]}
    settings = Settings(auth=Auth(jwt_keys=Secret(json.dumps([jwk]))))
    keeper, own = build_authenticator(settings), keys_of(settings.auth)
    by_secret = jwt.encode(_claims(), own.jwt_secret, algorithm="HS256")
    by_key = jwt.encode(_claims(), private, algorithm="ES256", headers={"kid": "k1"})
    found = route_of("/rest/v1/items")
    assert found is not None
    route = found[0]
    verifier = keeper.data

    def anew(token: str) -> object:
        verifier.forget()
        return verifier.verify(token, _NOW)

    rows: list[tuple[str, Callable[[], object], int]] = [
        ("verify, kept", lambda: verifier.verify(by_key, _NOW), _TIMES),
        ("caller: key alone", lambda: keeper.caller(route, own.anon_key, None, _NOW), _TIMES),
        ("caller: key and kept token", lambda: keeper.caller(route, own.anon_key, f"Bearer {by_key}", _NOW), _TIMES),
        ("verify, new HS256", lambda: anew(by_secret), _FEW),
        ("verify, new ES256", lambda: anew(by_key), _FEW),
        ("verify, refused", lambda: verifier.verify(by_key[:-4] + "AAAA", _NOW), _FEW),
    ]  # fmt: skip
    for name, work, times in rows:
        print(f"{name:32}{best_us(work, times):9.3f} us")


if __name__ == "__main__":
    main()
