"""Versions of stored plans, as JSON and as pickles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensor_core.errors import FormatError
from tensor_einsum import Plan, plan

STORED: Any = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))


def test_a_stored_plan_says_its_version_and_one_of_another_version_is_refused() -> None:
    restore, state = STORED.__reduce__()[:2]
    version, *content = state

    assert version == json.loads(STORED.to_json())["format"] == "tensor_einsum.plan/4"
    assert restore(*state) == STORED
    for other in ("tensor_einsum.plan/5", ("ij,jk,kl->il", ((0, 1),))):
        with pytest.raises(FormatError, match=r"a pickled plan has .*, and 'tensor_einsum.plan/4' is accepted; plan"):
            restore(other, *content)
    with pytest.raises(FormatError, match=r"no plan of format 'tensor_einsum.plan/4'"):
        Plan.from_json(STORED.to_json().replace("plan/4", "plan/5"))


@pytest.mark.parametrize(("version", "last"), [(3, "copies_within"), (2, "shared_bytes"), (1, "sliced")])
def test_a_plan_of_a_former_version_is_still_read(version: int, last: str) -> None:
    content = json.loads(STORED.to_json())
    names = ["copies_within", "shared_bytes", "sliced"]
    left_out = names[: names.index(last) + 1]
    for name in left_out:
        del content[name]
    content["format"] = f"tensor_einsum.plan/{version}"
    restore, state = STORED.__reduce__()[:2]
    _, *stored = state[: -len(left_out)]

    assert Plan.from_json(json.dumps(content)) == STORED
    assert restore(content["format"], *stored) == STORED
