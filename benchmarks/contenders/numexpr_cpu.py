"""numexpr: an expression compiled beforehand, evaluated block by block."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.contenders.base import NotOfferedError, Operations, Prepared
from benchmarks.contenders.numpy_scipy import read, with_views
from benchmarks.drawing import Array

numexpr: Any = import_module("numexpr")
numexpr.set_num_threads(int(os.environ.get("NUMEXPR_NUM_THREADS", "1")))


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The compiled expression."""
    return _compiled(arguments["expression"], with_views(arguments, arrays))


def everyday(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """What users type, where it is an expression of numexpr's."""
    if "numexpr" not in arguments["spelled"]:
        raise NotOfferedError
    return _compiled(arguments["spelled"]["numexpr"], arrays)


def _compiled(expression: str, arrays: list[Array]) -> Prepared:
    names = dict(zip("xyz", arrays, strict=False))
    numexpr.evaluate(expression, local_dict=names, global_dict={})
    return Prepared(lambda: numexpr.re_evaluate(local_dict=names, global_dict={}), read)


OPERATIONS: Operations = {"elementwise": elementwise, "everyday": everyday}
