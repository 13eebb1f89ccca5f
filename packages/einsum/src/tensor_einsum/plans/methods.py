"""What a plan can do besides contracting: environments, marginals, batches of operands, the same for other inputs.

Each method asks a module that is loaded when it is first called.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, Unpack, cast, overload

from tensor_core.errors import ArgumentError

if TYPE_CHECKING:
    from os import PathLike

    from tensor_core.dtypes import DTypeLike
    from tensor_einsum.derivatives.marginals import Marginals
    from tensor_einsum.derivatives.sweep import SweepPlan
    from tensor_einsum.execution.profiling import Profile
    from tensor_einsum.options import EnvironmentOptions, MarginalOptions, Report
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.search.calibration import Calibration
    from tensor_runtime import Tensor


class PlanMethods:
    """Methods that :class:`Plan` inherits; it brings the data.

    >>> from tensor_einsum import plan
    >>> isinstance(plan("i->", (2,)), PlanMethods)
    True
    """

    __slots__ = ("__weakref__",)

    def __copy__(self) -> Plan:
        return cast("Plan", self)

    def __deepcopy__(self, memo: object) -> Plan:
        return cast("Plan", self)

    def plot(
        self, file: str | PathLike[str], /, *, title: str | None = None, memory_limit: int | str | None = None
    ) -> None:
        """Draw the contraction tree, the memory that is taken and the work of each step; notebooks show the same.

        An SVG file has a tooltip for each marked node. It stays below 200 KB whatever the plan, as a page in a notebook
        does. Needs matplotlib (the extra ``plot``).

        Args:
            file: ends with ``.svg``, ``.png`` or ``.pdf``; it appears whole or not at all.
            title: None for the notation.
            memory_limit: bytes, or text such as ``"2GiB"``, to be drawn as a line.

        Raises:
            ArgumentError: another ending; ``memory_limit`` is none.
            PlotError: matplotlib is missing.
            SaveError: the file cannot be written.

        >>> import os, tempfile
        >>> from tensor_einsum import plan
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)).plot(os.path.join(folder, "plan.svg"))
        ...     os.listdir(folder)
        ['plan.svg']
        """
        from tensor_einsum.pictures.drawing import plot_plan

        plot_plan(cast("Plan", self), file, title, memory_limit)

    def profile(self, /, *operands: Tensor, seconds: float = 1.0, objective: Calibration | None = None) -> Profile:
        """Seconds of every step, as they are measured and as the cost model predicts them.

        The steps run one by one, several times; of a plan with slices, those of the first slice.

        Args:
            operands: tensors, as for calling the plan.
            seconds: about how long it measures; every step runs at least twice.
            objective: a calibration of this machine; None for the rates that come with this package.

        Raises:
            ArgumentError: ``seconds`` is no positive number, or ``objective`` no calibration.

        Other errors are those of the plan's call.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import ones
        >>> found = plan("ij,jk->ik", (2, 3), (3, 4)).profile(ones((2, 3)), ones((3, 4)), seconds=0.01)
        >>> found.steps[0].subscripts, found.measured > 0
        ('ij,jk->ik', True)
        """
        from tensor_einsum.execution.profiling import profile
        from tensor_einsum.search.cost_model import read_objective

        model = read_objective("profile", "time" if objective is None else objective).model
        return profile(cast("Plan", self), operands, seconds, model)

    @overload
    def environments(
        self, /, *operands: Tensor, strip_exponent: Literal[True], **options: Unpack[EnvironmentOptions]
    ) -> tuple[tuple[Tensor, float], ...]: ...
    @overload
    def environments(
        self, /, *operands: Tensor, strip_exponent: Literal[False] = ..., **options: Unpack[EnvironmentOptions]
    ) -> tuple[Tensor, ...]: ...
    def environments(
        self,
        /,
        *operands: Tensor,
        which: int | Sequence[int] | None = None,
        cotangent: Tensor | None = None,
        strip_exponent: bool = False,
        memory_limit: int | str | None = None,
        progress: Report = False,
    ) -> tuple[Any, ...]:
        """Derivatives of the network with respect to its operands, all in one sweep over the plan's tree.

        The environment of an operand is the contraction of the network without it. The sweep shares intermediates:
        for n operands it takes about three times the operations of one contraction, not n times.

        Args:
            operands: tensors, as for calling the plan.
            which: positions of the operands whose environments are wanted, in this order; None for all.
            cotangent: a tensor of the result's shape. The environments are then the derivatives of the sum of the
                products of result and cotangent: what reverse accumulation passes on. Without one, a result with axes
                keeps them: see below.
            strip_exponent: give a pair in the place of each tensor, as ``einsum`` does: mantissa and exponent. No
                intermediate leaves the range then; copies of operands that are out of it count for the limit.
            memory_limit: bytes, or text such as ``"2GiB"``, that intermediates, results and the workspaces of kernels
                may take at once. Intermediates are computed again where that keeps it. None for what the process may
                use.
            progress: as for ``einsum``.

        Returns:
            One tensor for each position, owned, of the result's dtype. With a cotangent, or if the result has no axes,
            it has the shape of the operand, and the sum of its products with the operand, conjugated where ``conj``
            names it, is the result (weighted by the cotangent). Without, [the operand's axes, then one axis for each
            label of the result that the operand has not, or has with extent 1 where the result has another, 0 too; each
            label once, in the result's order]; its products with the operand, conjugated likewise and summed over the
            labels that the result has not, are the result, or its diagonal where it repeats a label. Axes that the rest
            of the network does not depend on are repeated; off a diagonal that the operand is read on there are zeros.
            Nothing else is conjugated: it is the derivative of a holomorphic function of the operand, or of its
            conjugate where ``conj`` names it.

        Raises:
            ExtentError, DTypeError, PlacementError: as for calling the plan.
            ShapeError: the cotangent has another shape than the result.
            ArgumentError: ``which`` or ``memory_limit`` is none.
            MemoryLimitError: the limit cannot be kept; the message has the smallest that works, or of large
                networks a small one that does.
            OutOfMemoryError: with what kernels take besides it is more than the process may use; nothing has been
                computed.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import tensor
        >>> a, b = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([5.0, 6.0])
        >>> of_a, of_b = plan("ij,j->", a, b).environments(a, b)
        >>> of_a.to_numpy().tolist(), of_b.to_numpy().tolist()
        ([[5.0, 6.0], [5.0, 6.0]], [4.0, 6.0])
        """
        from tensor_einsum.derivatives.environments import environments_goal, run_sweep
        from tensor_runtime.dispatch.arguments import flag

        plan = cast("Plan", self)
        goal = environments_goal(plan, which, cotangent is not None)
        if flag("environments", "strip_exponent", strip_exponent):
            from tensor_einsum.derivatives.scaled import stripped_sweep

            return tuple(stripped_sweep("environments", plan, goal, operands, cotangent, memory_limit, progress))
        return tuple(run_sweep("environments", plan, goal, operands, cotangent, memory_limit, progress))

    def environments_plan(
        self,
        which: int | Sequence[int] | None = None,
        *,
        cotangent: bool = False,
        memory_limit: int | str | None = None,
    ) -> SweepPlan:
        """What :meth:`environments` would do: its steps, their costs, and the memory at the peak.

        Kernels say what they take, so this is worked out for the operands that the plan was made for: their dtypes and,
        where it was made for tensors, their layouts and placement; compact ones on ``cpu`` where it was made for
        shapes. Beside those, the limits that this accepts are those that :meth:`environments` accepts. Tensors that lie
        otherwise, or another cotangent than a compact one of the result's dtype, may take more or less; :meth:`reuse`
        makes a plan for them.

        Args:
            which: as for :meth:`environments`.
            cotangent: whether there will be one.
            memory_limit: as for :meth:`environments`, but None for no limit, whatever the process may use.

        Raises:
            ArgumentError, MemoryLimitError: as for :meth:`environments`.

        >>> from tensor_einsum import plan
        >>> plan("ij,jk,ki->", (20, 30), (30, 40), (40, 20)).environments_plan(which=0)
        <SweepPlan of 1 results: 2 steps, 4.8e+04 flops, peak 9.4 KiB>
        """
        from tensor_einsum.derivatives.environments import environments_goal, sweep_for
        from tensor_runtime.dispatch.arguments import flag

        plan = cast("Plan", self)
        weighted = flag("environments", "cotangent", cotangent)
        return sweep_for("environments", plan, environments_goal(plan, which, weighted), memory_limit)

    @overload
    def marginals(
        self, /, *operands: Tensor, strip_exponent: Literal[True], **options: Unpack[MarginalOptions]
    ) -> Marginals[tuple[Tensor, float]]: ...
    @overload
    def marginals(
        self,
        /,
        *operands: Tensor,
        normalize: bool = ...,
        strip_exponent: Literal[False] = ...,
        **options: Unpack[MarginalOptions],
    ) -> Marginals[Tensor]: ...
    def marginals(
        self,
        /,
        *operands: Tensor,
        labels: Hashable | Iterable[Hashable] | None = None,
        normalize: bool = False,
        strip_exponent: bool = False,
        memory_limit: int | str | None = None,
        progress: Report = False,
    ) -> Marginals[Any]:
        """The network with one label as its output, for every label, all in one sweep over the plan's tree.

        For a graphical model whose operands are the factors, and whose labels are the variables, these are the
        marginals of all variables, up to the partition function.

        Args:
            operands: tensors, as for calling the plan.
            labels: the labels wanted, in this order, as they are shown or as they were given for the notation (objects
                of one type that print alike, only as they are shown); a string that is no name of one is read letter by
                letter. None for all.
            normalize: whether each marginal is divided by its sum (in max-plus and min-plus: its extremum is
                subtracted). Where the sum is zero, that gives NaN. Where a sum is beyond the range, or below 2**-511
                (F32, C32: 2**-63), a second sweep brings intermediates near, as ``strip_exponent`` does, and the
                quotients are right; so a sum is zero only where nothing but zeros is summed. What intermediates alone
                lose, beside factors that bring the sum back, is not seen; nor is a sum that is small, but not zero,
                where a limit has no room for copies of operands. ``progress`` is told of both sweeps.
            strip_exponent, memory_limit, progress: as for :meth:`environments`; with ``normalize`` there is no exponent
                to give.

        Returns:
            A tensor of rank 1 for each label, by name, of the result's dtype; ``found[label]`` takes a label as it was
            given, too. Labels of the plan's output are summed like any other.

        Raises:
            ExtentError, DTypeError, PlacementError, OutOfMemoryError: as for :meth:`environments`; DTypeError also
                where integers or Bool would have to be normalized.
            ArgumentError: a label that the plan has not; ``normalize`` and ``strip_exponent`` together.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import tensor
        >>> prior, likelihood = tensor([0.5, 0.5]), tensor([[0.9, 0.1], [0.2, 0.8]])
        >>> found = plan("a,ab->", prior, likelihood).marginals(prior, likelihood, labels="b")
        >>> found["b"].to_numpy().round(2).tolist()
        [0.55, 0.45]
        """
        from tensor_einsum.derivatives.environments import run_sweep
        from tensor_einsum.derivatives.marginals import Marginals, marginals_goal, normalized_marginals
        from tensor_runtime.dispatch.arguments import flag

        plan = cast("Plan", self)
        divides = flag("marginals", "normalize", normalize)
        goal = marginals_goal(plan, labels)
        found: Sequence[Any]
        if flag("marginals", "strip_exponent", strip_exponent):
            if divides:
                raise ArgumentError(
                    "marginals: normalize=True together with strip_exponent=True; accepted: either, as what is divided "
                    "by its sum has no exponent to take off",
                    operation="marginals",
                )
            from tensor_einsum.derivatives.scaled import stripped_sweep

            found = stripped_sweep("marginals", plan, goal, operands, None, memory_limit, progress)
        elif divides:
            found = normalized_marginals(plan, goal, operands, memory_limit, progress)
        else:
            found = run_sweep("marginals", plan, goal, operands, None, memory_limit, progress)
        names = [plan.names[label] for label in goal.labels]
        return Marginals(plan.names, dict(zip(names, found, strict=True)))

    def marginals_plan(
        self, labels: Hashable | Iterable[Hashable] | None = None, *, memory_limit: int | str | None = None
    ) -> SweepPlan:
        """What :meth:`marginals` would do: its steps, their costs, and the memory at the peak.

        It is worked out as for :meth:`environments_plan`, and ``memory_limit`` is as there.

        Raises:
            ArgumentError, MemoryLimitError: as for :meth:`marginals`.

        >>> from tensor_einsum import plan
        >>> [step.subscripts for step in plan("a,ab->", (2,), (2, 3)).marginals_plan().steps]
        ['ab->a', 'a,a->a', 'ab,a->b']
        """
        from tensor_einsum.derivatives.environments import sweep_for
        from tensor_einsum.derivatives.marginals import marginals_goal

        plan = cast("Plan", self)
        return sweep_for("marginals", plan, marginals_goal(plan, labels), memory_limit)

    def map(
        self,
        operands: Sequence[Tensor],
        axis: int | Mapping[int, int] = -1,
        *others: Never,
        memory_limit: int | str | None = None,
        progress: Report = False,
    ) -> Tensor:
        """Contract many networks at once that differ in some operands, such as amplitudes or likelihoods.

        The path stays; what does not depend on the operands that vary is computed once. All values go through the
        other steps together, or, where that takes more memory than there may be, in parts of the batch.

        Args:
            operands: tensors; those that vary have one axis more than the plan says, all of the same extent.
            axis: which axis that is: an int for all that have one, or a mapping from positions of operands to ints;
                negative ones count from the end.
            others: refused: tensors stand in one list.
            memory_limit: bytes, or text such as ``"2GiB"``, that intermediates and the result may take at once; None
                for what the process may use.
            progress: as for ``einsum``.

        Returns:
            Shape [the output's axes, batch], owned. What calling the plan for each value would give, side by side.

        Raises:
            ArgumentError: no such operand or axis, or operands that are in no list; ``memory_limit`` is none.
            ExtentError, DTypeError, PlacementError: operands that the plan was not made for, or whose batch axes differ
                in extent; no operand that varies.
            MemoryLimitError: all at once take more than the limit, and so does a single value beside the result; the
                message has the smallest that works.

        >>> from tensor_einsum import plan
        >>> from tensor_runtime import tensor
        >>> a, vectors = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        >>> plan("ij,j->i", (2, 2), (2,)).map([a, vectors]).to_numpy().tolist()
        [[1.0, 2.0, 3.0], [3.0, 4.0, 7.0]]
        """
        from tensor_einsum.plans.batched import run_map

        if others:
            raise ArgumentError(
                f"map: found {2 + len(others)} operands side by side; accepted: one list of them, and axis= after it, "
                "as in plan.map([a, b, c], axis=-1)",
                operation="map",
            )
        return run_map(cast("Plan", self), operands, axis, memory_limit, progress)

    def reuse(self, *operands: object, dtype: DTypeLike | Sequence[DTypeLike] | None = None) -> Plan:
        """The same path for other inputs: a new plan for the same notation, with other shapes or dtypes.

        Nothing is searched, so this costs what reading a stored plan does. Conjugation stays with the operands that
        are conjugated now, as :attr:`Plan.conj` says. Real operands never are, whatever ``conj`` they were planned
        with: a plan of real operands is reused for complex ones without conjugation.

        Args:
            operands: tensors or shapes, one for each operand, of the same ranks as now (an ellipsis covers as many axes
                as it does now).
            dtype: of all operands, or a list with one per operand; None takes each tensor's own, and for a shape the
                one that this plan has there.

        Raises:
            ExtentError: another number of operands, other ranks, or extents that do not fit.
            DTypeError: an unknown dtype, or one that the algebra is not defined for.

        >>> from tensor_einsum import plan
        >>> small = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
        >>> large = small.reuse((20, 30), (30, 40), (40, 50))
        >>> large.path == small.path, large.output_shape
        (True, (20, 50))
        """
        from tensor_einsum.plans.operands import forms_of, lie_as_usual
        from tensor_einsum.plans.remaking import reused

        made = reused(cast("Plan", self), operands, dtype)
        return made if lie_as_usual(operands) else made._made_for(forms_of(operands, made.shapes, made.dtypes))
