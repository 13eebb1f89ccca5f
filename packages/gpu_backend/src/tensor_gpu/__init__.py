"""The place of the GPU backend: in this release its info entry only (:mod:`tensor_gpu.info`)."""

from tensor_gpu.version import __version__ as __version__
