"""Finds the most similar name, for hints in error messages. Pure; called only for errors.

Names are lower-cased, enclosed in hyphens and cut into grams of three characters (of two, if those match nothing).
Candidates that share a gram are ranked by the cosine of the gram counts; the fifty nearest are scored again by edit
distance: 1 for equal texts, 0 for texts without a common character. Source: the FuzzySet algorithm;
docs/reference/rest.md, section 20.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_GRAM_SIZES = (3, 2)
_NEAREST = 50
_LONGEST = 256
"""Longer texts get no hint: the edit distance grows with the product of both lengths."""
_IGNORED = re.compile(r"[^\w, ]+")


def best_match(name: str, candidates: Iterable[str], threshold: float) -> str | None:
    """Return the candidate most similar to `name` if its score (0 to 1) reaches the threshold; among equals the nearest."""
    lowered = name.lower()
    short = [candidate for candidate in candidates if len(candidate) <= _LONGEST]
    if len(lowered) > _LONGEST:
        return None
    for candidate in short:
        if candidate.lower() == lowered:
            return candidate
    for size in _GRAM_SIZES:
        best, score = None, threshold
        for candidate in _nearest(lowered, short, size):
            similarity = _similarity(lowered, candidate.lower())
            if similarity > score or (best is None and similarity == score):
                best, score = candidate, similarity
        if best is not None:
            return best
    return None


def _nearest(lowered: str, candidates: list[str], size: int) -> list[str]:
    """Return the candidates that share a gram, nearest first."""
    counts, norm = _grams(lowered, size)
    ranked = []
    for candidate in candidates:
        grams, their_norm = _cached_grams(candidate.lower(), size)
        shared = sum(count * grams[gram] for gram, count in counts.items() if gram in grams)
        if shared:
            ranked.append((-shared / (norm * their_norm), candidate))
    ranked.sort(key=lambda pair: pair[0])
    return [candidate for _, candidate in ranked[:_NEAREST]]


def _grams(lowered: str, size: int) -> tuple[Counter[str], float]:
    """Return the gram counts of a text and the length of that vector."""
    padded = f"-{_IGNORED.sub('', lowered)}-".ljust(size, "-")
    counts = Counter(padded[start : start + size] for start in range(len(padded) - size + 1))
    return counts, math.sqrt(sum(count * count for count in counts.values()))


_cached_grams = lru_cache(maxsize=8192)(_grams)
"""The same for names of the catalog, which are compared again for every error."""


def _similarity(one: str, other: str) -> float:
    """Return 1 minus the edit distance divided by the length of the longer text."""
    return 1.0 - _distance(one, other) / max(len(one), len(other), 1)


def _distance(one: str, other: str) -> int:
    """Return the number of insertions, deletions and replacements between two texts."""
    previous = list(range(len(other) + 1))
    for row, character in enumerate(one, start=1):
        current = [row]
        for column, their in enumerate(other, start=1):
            replaced = previous[column - 1] + (character != their)
            current.append(min(previous[column] + 1, current[-1] + 1, replaced))
        previous = current
    return previous[-1]
