"""JSON that every reader takes, on one line. It has no NaN and no infinities: they are texts here."""

from __future__ import annotations

import json
import math


def json_text(document: object, /) -> str:
    """An object as JSON, with "NaN", "Infinity" and "-Infinity" in the place of numbers that are not finite.

    >>> json_text({"value": [1.5, float("-inf")], "norm": float("nan")})
    '{"value": [1.5, "-Infinity"], "norm": "NaN"}'
    """
    return json.dumps(_with_texts(document), allow_nan=False)


def _with_texts(value: object) -> object:
    if isinstance(value, dict):
        return {name: _with_texts(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_texts(one) for one in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
