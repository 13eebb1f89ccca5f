"""What the runtime needs from what plugs in below it, and nothing more.

Backends satisfy these Protocols by structure; they inherit nothing. ``A`` is the backend's own array, opaque to
everyone else. ``PROTOCOL_VERSION`` changes when a method is added or changes its meaning; a plug-in states the
version it was written for in its info entry. Protocols that are optional as a whole (:class:`ThreadedBackend`,
:class:`SequencingBackend`, :class:`ExplainingBackend`, :class:`MeasuringBackend`, :class:`CallingBackend`,
:class:`SharingBackend`, :class:`DlpackBackend`, :class:`DeviceBackend`) may come without it.
"""

from __future__ import annotations

from typing import Final

from tensor_runtime.errors import DEFERRED as DEFERRED
from tensor_runtime.errors import RETOLD as RETOLD
from tensor_runtime.placement import MemoryUse as MemoryUse
from tensor_runtime.protocols.backend import Backend as Backend
from tensor_runtime.protocols.backend import DeviceBackend as DeviceBackend
from tensor_runtime.protocols.backend import DeviceStream as DeviceStream
from tensor_runtime.protocols.backend import HostBackend as HostBackend
from tensor_runtime.protocols.backend import PlacedBackend as PlacedBackend
from tensor_runtime.protocols.backend import Underway as Underway
from tensor_runtime.protocols.kernels import Counted as Counted
from tensor_runtime.protocols.kernels import Kernel as Kernel
from tensor_runtime.protocols.kernels import KernelChoice as KernelChoice
from tensor_runtime.protocols.kernels import KernelStep as KernelStep
from tensor_runtime.protocols.kernels import Operand as Operand
from tensor_runtime.protocols.kernels import Result as Result
from tensor_runtime.protocols.kernels import StepFailed as StepFailed
from tensor_runtime.protocols.native_calls import CallParts as CallParts
from tensor_runtime.protocols.optional import CallingBackend as CallingBackend
from tensor_runtime.protocols.optional import DlpackBackend as DlpackBackend
from tensor_runtime.protocols.optional import ExplainingBackend as ExplainingBackend
from tensor_runtime.protocols.optional import MeasuringBackend as MeasuringBackend
from tensor_runtime.protocols.optional import OnCase as OnCase
from tensor_runtime.protocols.optional import SequencingBackend as SequencingBackend
from tensor_runtime.protocols.optional import SharingBackend as SharingBackend
from tensor_runtime.protocols.optional import ThreadedBackend as ThreadedBackend

PROTOCOL_VERSION: Final = 2
