"""What is written into a tensor; views of it are in ``views``, and ``copy_into`` is elementwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.expressions import one_step, submitter
from tensor_gpu.kernels.planning import Binder, compact
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_add_into(executor: Executor, operands: tuple[Form, Form], result: Any, params: Any, /) -> Kernel:
    """Adds the second array's elements to the first's; of Bool, their or.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([10.0, 20.0])
    >>> bind_add_into(bench.executor, (x.form, y.form), None, None)(x.array, y.array)
    >>> bench.get(x)
    [11.0, 22.0]
    """
    target, source = operands
    copied = compact(source)
    expression = one_step("add", (target.dtype, source.dtype), target.dtype)
    submit, submit_copy = (
        submitter(executor, expression, (target, form), target.shape, target.strides, "add_into")
        for form in (source, copied)
    )
    copy = bind_step(executor, "copy", (source,), copied, None)

    def add_into(written: DeviceArray, added: DeviceArray) -> None:
        if written.allocation is added.allocation:
            submit_copy(written, [written, copy(added)])
        else:
            submit(written, [written, added])

    return add_into


BINDERS: Final[Mapping[str, Binder]] = {"add_into": bind_add_into}
