"""The name somebody may have meant: fuzzy matching for the hints of refusals. Pure; called only for errors.

Names are cut into grams of three signs (then of two, if those find nothing) of their lower-cased form between hyphens.
Candidates that share a gram are ranked by the cosine of the gram counts; the fifty nearest are scored anew by edit
distance: 1 for equal texts, 0 for texts without a sign in common. Source: the FuzzySet algorithm; reference page "rest",
section 20.
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
    """Give the candidate most like `name`, if its score (0 to 1) reaches the threshold; of equals the nearest."""
    lowered = name.lower()
    known = [each for each in candidates if len(each) <= _LONGEST]
    if len(lowered) > _LONGEST:
        return None
    for candidate in known:
        if candidate.lower() == lowered:
            return candidate
    for size in _GRAM_SIZES:
        best, score = None, threshold
        for candidate in _nearest(lowered, known, size):
            likeness = _likeness(lowered, candidate.lower())
            if likeness > score or (best is None and likeness == score):
                best, score = candidate, likeness
        if best is not None:
            return best
    return None


def _nearest(lowered: str, candidates: list[str], size: int) -> list[str]:
    """Give the candidates that share a gram, nearest first."""
    wanted, norm = _grams(lowered, size)
    ranked = []
    for candidate in candidates:
        grams, their_norm = _known_grams(candidate.lower(), size)
        shared = sum(count * grams[gram] for gram, count in wanted.items() if gram in grams)
        if shared:
            ranked.append((-shared / (norm * their_norm), candidate))
    ranked.sort(key=lambda pair: pair[0])
    return [candidate for _, candidate in ranked[:_NEAREST]]


def _grams(lowered: str, size: int) -> tuple[Counter[str], float]:
    """Count the grams of a text; give the length of that vector too."""
    padded = f"-{_IGNORED.sub('', lowered)}-".ljust(size, "-")
    counts = Counter(padded[start : start + size] for start in range(len(padded) - size + 1))
    return counts, math.sqrt(sum(count * count for count in counts.values()))


_known_grams = lru_cache(maxsize=8192)(_grams)
"""The same for names of the catalog, which are asked for again with every refusal."""


def _likeness(one: str, other: str) -> float:
    """Give 1 minus the edit distance in parts of the longer text."""
    return 1.0 - _distance(one, other) / max(len(one), len(other), 1)


def _distance(one: str, other: str) -> int:
    """Count the insertions, deletions and replacements that lead from one text to the other."""
    previous = list(range(len(other) + 1))
    for row, sign in enumerate(one, start=1):
        current = [row]
        for column, their in enumerate(other, start=1):
            replaced = previous[column - 1] + (sign != their)
            current.append(min(previous[column] + 1, current[-1] + 1, replaced))
        previous = current
    return previous[-1]
