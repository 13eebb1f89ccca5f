"""``tensor_runtime.array_api`` itself, for ``import ironstride.array_api as xp``."""

import sys

from tensor_runtime import array_api
from tensor_runtime.array_api import *  # noqa: F403 - for the type checker

sys.modules[__name__] = array_api
