"""Files on the standard library alone: ``.npy``, ``.npz``, safetensors and raw elements.

``save``, ``load`` and their relatives take and give host tensors; ``tensor_runtime`` has the same names for tensors,
and more formats. From the bottom: ``source`` and ``atomic_write`` (bytes), ``element_types``, ``blocks`` (what lies
between bytes and tensors), the headers (rules without a file), a module for each format, ``formats``, ``host_files``.
"""

from tensor_core.files.host_files import load, load_all, load_raw, save, save_raw

__all__ = ["load", "load_all", "load_raw", "save", "save_raw"]
