"""Names of objects and buckets: a name is refused or kept as it is, and never leaves the folder of the blob store.

What is stored is read back by the same address, and its name stands in the list as it was decoded. No file appears anywhere in
the data folder but in the blob store, under names that the platform draws. The object of somebody else stays unseen.
"""

import json
import os
import re
import unicodedata
from pathlib import Path
from random import Random
from urllib.parse import unquote_to_bytes

import pytest

from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Case, Wire, check_always, check_share, made_by, read_case

pytestmark = pytest.mark.process_group("fuzz")

_GRAMMAR = Grammar(
    r"""
start: «good» | «good» | «wild»
good: user PUT /storage/v1/object/open/«gname»\ncontent-type: «gtype»\nx-upsert: true\n\nbytes of «random» | anon POST /storage/v1/object/open/«gname»«random»\ncontent-type: text/plain\ncache-control: 60\nx-metadata: eyJhIjogMX0=\n\nbytes | anon GET /storage/v1/object/«ghow»open/a\n\n | user GET /storage/v1/object/info/open/a\n\n | user POST /storage/v1/object/list/open\ncontent-type: application/json\n\n{"prefix": "«gfolder»", "limit": 5, "offset": 0, "search": "«gfolder»", "sortBy": {"column": "name", "order": "desc"}} | user POST /storage/v1/object/list-v2/open\ncontent-type: application/json\n\n{"prefix": "«gfolder»", "limit": 3, "with_delimiter": true} | user POST /storage/v1/object/sign/open/a\ncontent-type: application/json\n\n{"expiresIn": 60} | user POST /storage/v1/object/sign/open\ncontent-type: application/json\n\n{"expiresIn": 60, "paths": ["a", "../closed/secret.txt"]} | user POST /storage/v1/object/copy\ncontent-type: application/json\n\n{"bucketId": "open", "sourceKey": "a", "destinationKey": "copy/«random»"} | service GET /storage/v1/bucket\n\n | user DELETE /storage/v1/object/open\ncontent-type: application/json\n\n{"prefixes": ["copy/1", "gone"]}
gname: a | b/c.txt | «gsegment» | «gsegment»/«gsegment» | x/y/z
gsegment: ü | u%CC%88 | a%20b | a+b | (1) | 'q' | %F0%9F%98%80 | %25 | a:b | ~ | %252e%252e | ... | .hidden | a.. | %2e%2e.%2e | %E2%80%AE
ghow: | public/ | authenticated/ | info/public/
gtype: text/plain | image/png | application/json | text/html; charset=utf-8
gfolder: | x | b/ | copy
wild: «caller» «write» /storage/v1/object/«bucket»/«name»\ncontent-type: «type»\n«header»\nbytes of «random» | «caller» «write» /storage/v1/object/open/«name»\ncontent-type: text/plain\n\nbytes of «random» | «caller» GET /storage/v1/object/«how»«bucket»/«name»«query»\n«header»\n | «caller» DELETE /storage/v1/object/«bucket»/«name»\n\n | «caller» POST /storage/v1/object/«verb»\ncontent-type: application/json\n\n«json» | «caller» «method» /storage/v1/bucket/«bucket»\ncontent-type: application/json\n\n«bucketjson» | «caller» POST /storage/v1/object/list/«bucket»\ncontent-type: application/json\n\n{"prefix": "«plain»", "limit": «number», "offset": «number», "search": "«plain»", "sortBy": {"column": "«column»", "order": "«plain»"}} | «caller» POST /storage/v1/object/sign/«bucket»/«name»\ncontent-type: application/json\n\n{"expiresIn": «number»}
caller: anon | user | user | service
write: POST | PUT | POST
method: GET | PUT | DELETE | POST | HEAD
how: | public/ | authenticated/ | info/ | info/public/ | sign/ | info/authenticated/
verb: copy | move | list-v2/open | sign/open | open
bucket: open | open | open | closed | small | nowhere | .. | . | %2e%2e | open%2f.. | open%00 | OPEN | «plain»
name: «segment» | «segment»/«segment» | «segment»/«segment»/«segment» | «segment»/ | /«segment»
segment: a | b.txt | .. | . | %2e%2e | %2E%2e%2F | ..%2f..%2f.. | ..%5c.. | %00 | a%00b | %0a | %0d%0a | %FF | %C0%AE%C0%AE | %ED%A0%80 | %E2%80%AE | ü | u%CC%88 | %F0%9F%98%80 | a%20b | a+b | %25 | %252e%252e | %2f | ; | ?x | # | * | ~ | $HOME | CON | %7f | .emptyFolderPlaceholder | «long» | etc/passwd | (a) | 'a' | "a" | a: | \\..\\a | %c2%ad | a. | %20
plain: a | b.txt | .. | ../ | /etc/passwd | \\u0000 | \\ud800 | % | _ | ü | a/b | | \\\\ | *
type: text/plain | image/png | text/html | application/json | image/png, text/html | text/plain; charset=x | x | image/* | multipart/form-data; boundary=x | TEXT/PLAIN | a/b;c="
header: | x-upsert: true\n | cache-control: «plain»\n | range: bytes=«number»-«number»\n | if-none-match: *\n | x-metadata: e30=\n | x-metadata: %%%\n | accept: image/webp\n | x-robots-tag: «plain»\n
query: | ?download | ?download=«segment» | ?token=«segment» | ?width=«number»&height=«number» | ?version=«segment»
json: {"bucketId": "open", "sourceKey": "«plain»", "destinationKey": "«plain»", "destinationBucket": "«plain»"} | {"bucketId": "closed", "sourceKey": "secret.txt", "destinationKey": "stolen.txt", "destinationBucket": "open"} | {"paths": ["«plain»", "secret.txt"], "expiresIn": «number»} | {"prefixes": ["«plain»"]} | {"prefix": "«plain»", "limit": «number», "cursor": "«plain»", "with_delimiter": true} | [] | {
bucketjson: {"id": "«plain»", "name": "«plain»", "public": true, "file_size_limit": «number», "allowed_mime_types": ["«type»"]} | {"public": null} | {}
number: 0 | 1 | 10 | -1 | 99999999999999999999 | 1e400 | "5mb" | 1.5 | null
column: name | created_at | id; drop table | metadata | updated_at
""",
    random=lambda random: str(random.randrange(10**6)),
    long=lambda random: random.choice(("a" * 300, "%C3%BC" * 500, "a/" * 200, "x" * 1025)),
)
_UPLOAD = re.compile(rb"/storage/v1/object/open/([^?]+)")
_LOOK_AFTER = 100
_CHANGING = {"logs", "run", "postgres", "nats", "state.json", "status.json"}
"""Of the data folder, what processes of the platform write by themselves."""


class _Names:
    """Sends requests to storage, and looks where their bytes went."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._sent = 0
        assert wire.ask("service", "POST", "/storage/v1/object/closed/secret.txt").status in (200, 400)
        secret = b"content-type", b"text/plain"
        wire.send(
            Case(
                "service",
                b"PUT",
                b"/storage/v1/object/closed/secret.txt",
                (secret,),
                b"planted-secret-object",
            )
        )
        first = (b"content-type", b"text/plain"), (b"x-upsert", b"true")
        assert wire.send(Case("service", b"PUT", b"/storage/v1/object/open/a", first, b"first")).status == 200
        self._before = self._files()

    def check(self, data: bytes) -> None:
        """Send a request; what it stored is read back, and what it must not see is unseen."""
        case = read_case(data)
        answer = self._wire.send(case)
        check_always(case, answer)
        if (
            case.method in (b"POST", b"PUT")
            and answer.status == 200
            and (found := _UPLOAD.fullmatch(case.target))
        ):
            self._check_stored(case, found[1], answer.body)
        self._sent += 1
        if self._sent % _LOOK_AFTER == 0:
            self.check_folder()

    def check_folder(self) -> None:
        """Check that no file appeared outside of the blob store."""
        new = {path for path in self._files() - self._before if not _is_blob(path)}
        assert not new, f"files outside of the blob store: {sorted(new)[:5]}"

    def _check_stored(self, case: Case, encoded: bytes, told: bytes) -> None:
        key = json.loads(told).get("Key", "")
        name = unicodedata.normalize("NFC", unquote_to_bytes(encoded).decode())
        assert key == f"open/{name}", f"stored as {key!r}, sent as {name!r}"
        assert not any(part in (".", "..") for part in re.split(r"[/\\]", name))
        again = self._wire.send(Case(case.caller, b"GET", case.target, (), b""))
        assert again.status == 200, f"what was stored cannot be read: {again.status} {again.body[:200]!r}"
        folder, _, _ = name.rpartition("/")
        listed = self._wire.ask(
            "service", "POST", "/storage/v1/object/list/open", {"prefix": folder, "limit": 1000}
        )
        assert listed.status == 200, listed.body

    def _files(self) -> set[str]:
        root = self._wire.target.data
        found = set()
        for folder, folders, files in os.walk(root):
            if Path(folder) == root:
                folders[:] = [name for name in folders if name not in _CHANGING]
            found |= {str((Path(folder) / name).relative_to(root)) for name in files if name not in _CHANGING}
        return found


def _is_blob(path: str) -> bool:
    """Tell whether a file lies in the blob store under names that are drawn: letters, digits and hyphens alone."""
    first, *rest = path.split("/")
    return first == "storage" and all(
        re.fullmatch(r"[A-Za-z0-9_.=-]+", part) and part not in (".", "..") for part in rest
    )


def _generated(random: Random) -> bytes:
    return made_by(_GRAMMAR, random)


def test_any_name_is_refused_or_kept_and_never_leaves_its_folder(budget: Budget, wire: Wire) -> None:
    names = _Names(wire)

    run(Target("storage", _generated, names.check, 900, _GRAMMAR.words, share=6), budget)

    names.check_folder()
    check_share(wire, 0.1)
