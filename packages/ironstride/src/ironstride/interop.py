"""``tensor_runtime.interop`` itself, for ``from ironstride.interop import use_with_autoray``."""

import sys

from tensor_runtime import interop
from tensor_runtime.interop import *  # noqa: F403 - for the type checker

sys.modules[__name__] = interop
