"""numexpr: an expression compiled beforehand, evaluated block by block."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.contenders.numpy_scipy import read, with_views
from benchmarks.drawing import Array

numexpr: Any = import_module("numexpr")
numexpr.set_num_threads(int(os.environ.get("NUMEXPR_NUM_THREADS", "1")))


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The compiled expression."""
    arrays = with_views(arguments, arrays)
    names = dict(zip("xyz", arrays, strict=False))
    numexpr.evaluate(arguments["expression"], local_dict=names, global_dict={})
    return Prepared(lambda: numexpr.re_evaluate(local_dict=names, global_dict={}), read)


OPERATIONS: Operations = {"elementwise": elementwise}
