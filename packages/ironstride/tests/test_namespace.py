"""``import ironstride as it``: every name of the packages, loaded on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ironstride as it
import tensor_core
import tensor_einsum
import tensor_linalg
import tensor_runtime


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_every_public_name_of_the_packages_is_there() -> None:
    for name in tensor_einsum.__all__:
        assert getattr(it, name) is getattr(tensor_einsum, name)
    for name in {*tensor_runtime.__all__} - {*tensor_einsum.__all__}:
        assert getattr(it, name) is getattr(tensor_runtime, name)


def _name(error: type) -> str:
    return error.__name__


def _all_errors() -> list[type[it.TensorError]]:
    """Every class of the tree that is neither a private one nor a backend's own."""
    packages = ("tensor_core.", "tensor_runtime.", "tensor_einsum.", "tensor_linalg.")
    found, left = [], [it.TensorError]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        if not _name(one).startswith("_") and one.__module__.startswith(packages) and ".testing" not in one.__module__:
            found.append(one)
    return found


def test_every_error_is_in_the_namespace() -> None:
    assert len(_all_errors()) > 40
    for error in _all_errors():
        assert getattr(it, _name(error)) is error
    with pytest.raises(it.ShapeError):
        it.ones(2) + it.ones(3)
    assert run("import sys, ironstride as it\nit.ShapeError\nprint('tensor_runtime' in sys.modules)") == "False\n"


def test_families_keep_their_namespaces() -> None:
    assert it.linalg is tensor_linalg
    assert it.core is tensor_core
    assert it.matmul is tensor_runtime.matmul, "the one of the array libraries; linalg.matmul has batches behind"


@pytest.mark.parametrize("name", ["array_api", "core", "interop", "linalg", "pictures"])
def test_a_module_is_the_same_however_it_is_imported(name: str) -> None:
    statements = [f"import ironstride.{name} as one", f"import ironstride; other = ironstride.{name}"]
    for first, second in (statements, statements[::-1]):
        assert run(f"{first}\n{second}\nfrom ironstride.{name} import *\nprint(one is other)") == "True\n"


def test_completion_shows_public_names_only() -> None:
    modules = {"array_api", "core", "interop", "linalg", "pictures"}
    names = {*tensor_runtime.__all__, *tensor_einsum.__all__, *modules, "__version__", *map(_name, _all_errors())}
    assert set(dir(it)) == names
    for name in names:
        assert getattr(it, name) is not None


def test_importing_loads_nothing_and_a_family_loads_when_it_is_named() -> None:
    assert (
        run(
            "import sys, ironstride as it\n"
            "print(*(name in sys.modules for name in ('tensor_core', 'numpy', 'typing')))\n"
            "it.zeros; print(*(f'tensor_{name}' in sys.modules for name in ('runtime', 'einsum', 'linalg')))\n"
            "it.plan; it.linalg; print(*(f'tensor_{name}' in sys.modules for name in ('einsum', 'linalg')))\n"
        ).split()
        == ["False"] * 3 + ["True", "False", "False"] + ["True"] * 2
    )


def test_a_star_import_brings_what_completion_shows() -> None:
    assert (
        run("from ironstride import *\nprint(einsum('ii->', eye(3)).item(), linalg.det(eye(2)).item())") == "3.0 1.0\n"
    )


def test_a_name_that_is_not_there_says_where_it_is() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'svd'; did you mean: 'linalg\.svd'\?"):
        it.svd  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        it.nonsense  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        from ironstride import nonsense  # type: ignore[attr-defined]  # noqa: F401


def test_threads_may_name_packages_for_the_first_time_at_once() -> None:
    assert (
        run(
            "import sys, threading, ironstride as it\n"
            "sys.setswitchinterval(1e-6)\n"
            "names = ('linalg', 'tensor', 'plan', 'core', 'einsum', 'fuse')\n"
            "start, found = threading.Barrier(len(names)), []\n"
            "def name(one):\n"
            "    start.wait()\n"
            "    found.append(getattr(it, one))\n"
            "threads = [threading.Thread(target=name, args=(one,)) for one in names]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
            "print(len(found))\n"
        )
        == "6\n"
    )


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("fromfile", "load_raw"), ("cat", "concatenate"), ("float32", "F32"), ("svd", "linalg.svd"),
        ("einsum_path", "write plan"), ("contract", "write einsum.*or plan"),
        ("contract_expression", "write plan"), ("contract_path", "write plan"), ("cho_factor", "write linalg.cholesky"),
        ("toeplitz", "scipy.linalg.toeplitz takes"), ("permute", "permute_axes"),
        ("logsumexp", "fold"), ("vmap", "axes of a batch"), ("load_plan", "write Plan.from_json"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_are_told_what_they_are_here(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'ironstride' has no attribute '{name}'.*{instead}"):
        getattr(it, name)


def test_what_other_libraries_are_told_of_us_is_in_the_namespace() -> None:
    assert it.interop.use_with_autoray is tensor_runtime.interop.use_with_autoray
    assert {"interop", "array_api"} <= set(dir(it))
    assert run("import tensor_runtime as tr\nprint(tr.interop.__name__, tr.array_api.asarray.__name__)") == (
        "tensor_runtime.interop asarray\n"
    )


def test_a_name_that_a_family_lacks_is_told_what_is_near() -> None:
    for name, remedy in {
        "truncated_svd": "did you mean: 'svd_truncated'",
        "choleski": "did you mean: 'cholesky'",
        "einsum": "write tensor_runtime.einsum",
        "einsum_path": "write tensor_einsum.plan",
        "matrix_transpose": r"write tensor_linalg.mT\(x\)",
        "matrix_exp": r"write tensor_linalg.expm\(x\)",
        "coshm": r"write multiply\(add\(tensor_linalg.expm\(x\)",
        "cho_factor": r"write tensor_linalg.cholesky\(x\)",
        "solve_sylvester": "scipy.linalg.solve_sylvester takes",
        "cho_facter": "'cho_facter'$",
        "sinhmm": "'sinhmm'$",
        "nonsense_of_mine": "'nonsense_of_mine'$",
    }.items():
        said = f"'tensor_linalg' has no attribute '{name}'.*{remedy}"
        with pytest.raises(it.MissingAttributeError, match=said if remedy[0] != "'" else remedy) as caught:
            getattr(it.linalg, name)
        assert caught.value.name == name and not hasattr(it.linalg, name)
    assert not hasattr(it.linalg, "__nothing__")
    for name in ("mH", "adjoint"):
        with pytest.raises(it.MissingAttributeError, match=r"write tensor_linalg\.mH\(x\)"):
            getattr(it.ones((2, 2)), name)
