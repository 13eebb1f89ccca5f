"""What a plan can do in slices; each method asks a module that is loaded when it is first called."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from os import PathLike

    from tensor_einsum.execution.progress import OnStep
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.slices.cutting import Slices
    from tensor_runtime import Tensor


class SliceMethods:
    """Methods that :class:`Plan` inherits; it brings the data.

    >>> from tensor_einsum import plan
    >>> isinstance(plan("i->", (2,)), SliceMethods)
    True
    """

    __slots__ = ()

    @property
    def slices(self) -> Slices:
        """How many slices there are, and which labels are cut (:class:`Slices`); one of a plan that is not sliced."""
        from tensor_einsum.slices.cutting import slices_of

        plan = cast("Plan", self)
        return slices_of(plan.names, plan.extents, plan.sliced)

    def with_slices(self, labels: Hashable | Iterable[Hashable] | Mapping[Any, int], /) -> Plan:
        """The same contraction along the same path, slice by slice.

        Args:
            labels: labels to cut into parts of extent 1, or a mapping from each label to the extent of its parts; as
                they are shown or as they were given for the notation (objects of one type that print alike, only as
                they are shown). A string that is no name of a label is read letter by letter. What is cut now is
                forgotten; () gives a plan without slices.

        Raises:
            ArgumentError: a label that the notation has not, or a part that is no int of 1 or more.

        >>> from tensor_einsum import plan
        >>> p = plan("ij,jk,kl->il", (9, 9), (9, 9), (9, 9))
        >>> p.with_slices("j").slices.count, p.with_slices({"i": 4}).slices.shape
        (9, (3,))
        """
        from tensor_einsum.slices.cutting import named_cuts
        from tensor_einsum.slices.needs import replaced

        plan = cast("Plan", self)
        cuts = named_cuts(labels, plan.names)
        return replaced(plan, cuts, copies_within=None if cuts else plan.copies_within)

    @property
    def peak_bytes(self) -> int:
        """The most bytes that a call takes at once beside its operands: intermediates, result, workspaces of kernels.

        Kernels say what they take, such as copies of operands that they cannot read as they lie, and panels that they
        pack for each of the threads that are set (``tensor_runtime.set_threads``). So this is worked out
        when it is asked for, by binding them: those for the tensors that the plan was made for, or for compact operands
        on ``cpu`` where it was made for shapes, or was read. Where none can be bound (no backend has them, operands lie
        in different places, no memory has room), it is ``intermediate_bytes``, to which workspaces are added otherwise.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> whole, b = ones((1500, 1500), "I32"), ones((1500, 1500))
        >>> found = plan("ij,jk->ik", whole, b)  # the integers are converted first
        >>> found.intermediate_bytes, found.peak_bytes, plan("ij,jk->ik", (1500, 1500), b).peak_bytes
        (18000000, 36000000, 18000000)
        """
        from tensor_einsum.slices.needs import peak_bytes

        return peak_bytes(cast("Plan", self))

    def peak_bytes_on(self, *operands: Tensor) -> int:
        """``peak_bytes`` beside these tensors, which may lie otherwise than those that the plan was made for.

        Raises:
            ExtentError, DTypeError, PlacementError: tensors of other shapes or dtypes, or in different places.
            UnsupportedOperationError: their backend lacks a kernel.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> plan("ij,jk->ik", (20, 30), (30, 40)).peak_bytes_on(ones((30, 20)).T, ones((30, 40)))
        6400
        """
        from tensor_einsum.execution.executor import check_forms
        from tensor_einsum.slices.needs import needed_bytes
        from tensor_runtime.tensors.tensor import unwrap

        plan, forms = cast("Plan", self), [unwrap("peak_bytes_on", operand)[0] for operand in operands]
        check_forms(plan, forms, "peak_bytes_on")
        return needed_bytes(plan, forms)

    def run_slice(
        self, number: int, /, *operands: Tensor, on_step: OnStep | None = None, force: bool = False
    ) -> Tensor:
        """The part of the result that one slice gives; arguments and errors as for a call.

        Args:
            number: 0 to ``slices.count`` - 1; the last of ``slices.labels`` runs fastest.

        Returns:
            An owned, compact tensor: the axes of the output, those of labels cut into parts of extent 1 left out.

        Raises:
            ArgumentError: no such slice.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> p, x = plan("ij,jk->ik", (2, 3), (3, 4)).with_slices("k"), (ones((2, 3)), ones((3, 4)))
        >>> p.gather(p.run_slice(number, *x) for number in range(p.slices.count)).shape
        (2, 4)
        """
        from tensor_einsum.slices.running import run_slice

        return run_slice(cast("Plan", self), number, operands, on_step, force)

    def map_slices(
        self,
        executor: Any,
        /,
        *operands: Tensor,
        on_slice: OnStep | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
        force: bool = False,
    ) -> Tensor:
        """The result, by slices that an executor computes: threads, processes, or a cluster.

        What all slices share is computed here; workers get that, and the operands that slices read. Their parts are
        added in the order of the slices as they come, a few ahead of it, so the result has the bits of a call (of one
        with as many threads as a worker has). Where workers are no threads of this process, operands that take
        more than four times the memory of their elements become compact first, and the bits are those of a call with
        compact ones.

        Args:
            executor: anything with ``submit``, whose futures have ``result`` and ``cancel``: an executor of
                ``concurrent.futures``, or a client of ``dask.distributed`` (the extra ``distributed``). Processes map
                the data from one temporary file, and keep it mapped until they get other data. A client gets it once,
                by ``scatter``, and slices of a worker that was killed are computed again.
            operands: as for a call. Each worker takes what one slice takes.
            on_slice: called as ``on_slice(done, total)`` as parts are added.
            checkpoint, checkpoint_seconds: as for a call.
            force: as for a call.

        Raises:
            ArgumentError: the executor has no ``submit``, or gives coroutines.
            BackendError: it broke, or a worker failed otherwise than by an error of ours.

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> p = plan("ij,jk->", (20, 30), (30, 40)).with_slices("j")
        >>> with ThreadPoolExecutor(2) as executor:
        ...     p.map_slices(executor, ones((20, 30)), ones((30, 40))).item()
        24000.0
        """
        from tensor_einsum.slices.mapping import map_slices

        plan = cast("Plan", self)
        return map_slices(plan, executor, operands, on_slice, checkpoint, checkpoint_seconds, force)

    def gather(self, parts: Iterable[Tensor], /) -> Tensor:
        """The result of all slices, from their parts in order; an iterable is read one part at a time.

        Sums of parts have the order, and so the bits, that a call gives them.

        Raises:
            ExtentError, DTypeError: parts that are none of this plan, or not as many as there are slices.
            PlacementError: parts in different places.
        """
        from tensor_einsum.slices.running import gather

        return gather(cast("Plan", self), parts)
