"""``tensor_core`` itself, for ``from ironstride.core import TensorLayout``."""

import sys

import tensor_core
from tensor_core import *  # noqa: F403 - for the type checker

sys.modules[__name__] = tensor_core
