"""What a machine has of what devices of CUDA need: each missing part with the command that installs or mends it.

Nothing here imports an array library or asks a driver: a :class:`Probe` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Final, NamedTuple, Protocol

PACKAGE: Final = "ironstride-tensor-gpu"
LIBRARIES: Final = ("cublas", "cusolver", "nvrtc")
"""Libraries of CUDA, by the names that CuPy has for them, without which there are no devices."""
ACCELERATORS: Final = "CUPY_ACCELERATORS"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
NOT_INSTALLED: Final = (
    f"CuPy is not installed; pip install '{PACKAGE}[cuda12]', or with [cuda13] for drivers of CUDA 13"
)
_DRIVER: Final = "as root, ubuntu-drivers install, or apt-get install nvidia-driver on Debian"


class Probe(Protocol):
    """What is asked of a machine, in this order; each method but the first may raise anything at all."""

    def installed(self) -> bool:
        """Whether there is a CuPy to import. Imports nothing."""
        ...

    def load(self) -> str:
        """Import CuPy; its version."""
        ...

    def driver(self) -> int:
        """The newest CUDA that the driver knows, as 1000 major + 10 minor; 0 where there is no driver."""
        ...

    def runtime(self) -> int:
        """The CUDA that CuPy was built for, numbered alike."""
        ...

    def devices(self) -> int:
        """How many there are."""
        ...

    def library(self, name: str, /) -> None:
        """Open one of :data:`LIBRARIES`."""
        ...

    def launch(self) -> None:
        """Run a kernel of one element, and wait for it."""
        ...


class DeviceReport(NamedTuple):
    """What was found; devices can be used where nothing is missing.

    >>> DeviceReport().usable, DeviceReport(missing=("this; do that",)).message
    (True, 'this; do that')
    """

    cupy: str = ""  # its version
    driver: int = 0
    runtime: int = 0
    devices: int = 0
    missing: tuple[str, ...] = ()
    """Each with the command that mends it."""

    @property
    def usable(self) -> bool:
        """Whether there is a device, and all that it needs."""
        return not self.missing

    @property
    def message(self) -> str:
        """Everything that is missing, as one line; empty where nothing is."""
        return "; ".join(self.missing)


def cupy_installed() -> bool:
    """Whether there is a CuPy to import; imports nothing."""
    return find_spec("cupy") is not None


def examine(probe: Probe, /) -> DeviceReport:
    """What a machine has: asks until something is missing without which nothing else can be asked.

    >>> class Bare:
    ...     def installed(self):
    ...         return False
    >>> examine(Bare()).message.partition(";")[0]
    'CuPy is not installed'
    """
    if not probe.installed():
        return DeviceReport(missing=(NOT_INSTALLED,))
    found, tell = DeviceReport(), _not_imported
    try:
        found = found._replace(cupy=probe.load())
        tell = _silent_driver
        found = found._replace(driver=probe.driver())
        tell = _silent_runtime
        found = found._replace(runtime=probe.runtime())
    except Exception as error:
        return found._replace(missing=(tell(error),))
    if not found.driver:
        return found._replace(missing=(_no_driver(found.runtime),))
    count, refusal = _count(probe)
    if not count:
        outdated = "InsufficientDriver" in str(refusal) or found.driver // 1000 < found.runtime // 1000
        return found._replace(missing=(_old_driver(found) if outdated else _no_device(refusal),))
    found = found._replace(devices=count)
    missing = [
        _no_library(name, failure, found.runtime)
        for name in LIBRARIES
        if (failure := _failure(partial(probe.library, name))) is not None
    ]
    if not missing and (failure := _failure(probe.launch)) is not None:
        missing.append(_no_launch(failure))
    return found._replace(missing=tuple(missing))


def _count(probe: Probe) -> tuple[int, Exception | None]:
    try:
        return probe.devices(), None
    except Exception as error:
        return 0, error


def _failure(work: Callable[[], None]) -> Exception | None:
    try:
        work()
    except Exception as error:
        return error
    return None


def _not_imported(error: Exception) -> str:
    told = f"importing CuPy failed: {_line(error)}"
    if ACCELERATORS in os.environ and isinstance(error, ValueError):
        return f"{told}; unset {ACCELERATORS}, which is {os.environ[ACCELERATORS]!r}"
    return f"{told}; pip list names every cupy package: leave one of them, and pip install --force-reinstall it"


def _silent_driver(error: Exception) -> str:
    return (
        f"the NVIDIA driver does not tell its version: {_line(error)}; nvidia-smi says whether it works, and after an "
        "update of the driver the machine has to be started again"
    )


def _silent_runtime(error: Exception) -> str:
    return (
        f"CuPy does not tell the CUDA that it was built for: {_line(error)}; python -c 'import cupy; "
        "cupy.show_config()' says what it finds, and pip install --force-reinstall brings it anew"
    )


def _no_driver(runtime: int) -> str:
    return (
        f"there is no NVIDIA driver; install one that knows CUDA {runtime // 1000} ({_DRIVER}), and start a container "
        "with --gpus all; nvidia-smi then lists the devices"
    )


def _old_driver(found: DeviceReport) -> str:
    return (
        f"the NVIDIA driver is too old: it knows CUDA {_version(found.driver)}, and this CuPy is built for CUDA "
        f"{_version(found.runtime)}; install a newer driver ({_DRIVER}), or a CuPy for CUDA {found.driver // 1000}"
    )


def _no_device(error: Exception | None) -> str:
    told = "the NVIDIA driver finds no device" + (f": {_line(error)}" if error is not None else "")
    if VISIBLE in os.environ:
        return f"{told}; unset {VISIBLE}, which is {os.environ[VISIBLE]!r}"
    return f"{told}; nvidia-smi says what it sees, and a container needs --gpus all"


def _no_library(name: str, error: Exception, runtime: int) -> str:
    return f"the library {name} cannot be opened: {_line(error)}; pip install 'cupy-cuda{runtime // 1000}x[ctk]'"


def _no_launch(error: Exception) -> str:
    return (
        f"a kernel of one element failed: {_line(error)}; nvidia-smi says whether the device is free and sound, and "
        "python -c 'import cupy; cupy.show_config()' what CuPy uses"
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
