"""``tensor_linalg`` itself, for ``from ironstride.linalg import svd``."""

import sys

import tensor_linalg
from tensor_linalg import *  # noqa: F403 - for the type checker

sys.modules[__name__] = tensor_linalg
