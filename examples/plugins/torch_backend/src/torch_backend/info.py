"""What the registry asks before anybody needs the backends; PyTorch is looked for and not imported."""

from importlib.util import find_spec

_STATUS = {} if find_spec("torch") else {"status": "not installed", "reason": "PyTorch is missing: pip install torch"}
HOST = {"protocol_version": 2, "device_kinds": ("torch-cpu",), **_STATUS}
GPUS = {"protocol_version": 2, "device_kinds": ("torch-cuda",), **_STATUS}
