"""Pickle support: a tensor travels as its form and its compact bytes.

With protocol 5 and a ``buffer_callback`` the bytes leave out of band, without a copy. A tensor of a device is
refused: bring it to the host first, so that the file opens on a machine without that device.
"""

from __future__ import annotations

from typing import Any

from tensor_core.errors import PlacementError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import download, upload


def reduce_tensor(x: Tensor, protocol: Any, /) -> tuple[Any, ...]:
    """What pickle stores: the form, and the elements in column-major order.

    Raises:
        PlacementError: the tensor is not in plain host memory.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(tensor([1.0, 2.0]))).to_numpy().tolist()
    [1.0, 2.0]
    """
    from pickle import PickleBuffer  # a program that pickles nothing need not load it

    if x.placement is not CPU:
        raise PlacementError(f"pickle: the tensor is on {x.placement}; bring it to the host with to(x, 'cpu') first")
    form = form_of(x.dtype, x.shape, CPU)
    raw: Any = download(x).raw
    return restored, (form, PickleBuffer(raw) if protocol >= 5 else bytes(raw))


def restored(form: Form, data: Any, /) -> Tensor:
    """The tensor that :func:`reduce_tensor` took apart.

    >>> x = tensor([1.0, 2.0])
    >>> restored(*reduce_tensor(x, 5)[1]).to_numpy().tolist()
    [1.0, 2.0]
    """
    return upload(HostTensor.wrap_bytes(data, form.shape, form.dtype), form.placement)
