"""Which suites there are: where they run, what is selected, and the plug-in that brings our tensors in."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

SCRIPTS: Final = Path(__file__).resolve().parent / "scripts"
EXAMPLES: Final = 60
"""Examples for each test of the array API's suite: with 20, layout errors hide."""
FOREIGN: Final = "int8,int16,uint8,uint16,uint32,uint64"
"""Types of the standard that are none of ours."""
_BY_THE_STANDARD: Final = ("SCIPY_ARRAY_API", "1")
"""What makes SciPy, and with it scikit-learn, take arrays of other libraries."""


class Client(NamedTuple):
    """One suite: files in a folder below the checked-out suites, or programs of this project's where that is None."""

    name: str
    what: str
    folder: str | None
    arguments: tuple[str, ...]
    plugin: str = ""
    environment: tuple[tuple[str, str], ...] = ()


def _script(name: str, what: str, module: str, plugin: str = "", *environment: tuple[str, str]) -> Client:
    return Client(name, what, None, ("--import-mode=importlib", str(SCRIPTS / module)), plugin, environment)


CLIENTS: Final = (
    Client(
        "opt_einsum",
        "its tests, with our einsum as contract",
        "opt_einsum",
        (
            *(f"opt_einsum/tests/test_{part}.py" for part in ("input", "edge_cases", "contract")),
            *("-k", "drop_in or test_input or edge_cases or rand_equation"),
        ),
        "opt_einsum_contract",
    ),
    _script("opt_einsum-tensors", "70 equations, 7 dtypes, 5 layouts", "test_opt_einsum.py"),
    Client(
        "cotengra",
        "its equations, with our einsum",
        "cotengra",
        ("tests/test_compute.py", "-k", "basic_equations"),
        "cotengra_einsum",
    ),
    Client(
        "cotengra-tensors",
        "equations and random hyper-networks in its executor",
        "cotengra",
        ("tests/test_compute.py", "tests/test_backends.py", "-k", "basic_equations or rand_equation or numpy"),
        "cotengra_executor",
    ),
    Client(
        "einops",
        "its tests, on NumPy's arrays and tensors",
        "einops",
        tuple(f"einops/tests/test_{part}.py" for part in ("ops", "einsum", "packing", "other", "examples")),
        "einops_backend",
        (("EINOPS_TEST_BACKENDS", "numpy,tensor_runtime"),),
    ),
    Client(
        "array-api",
        f"array-api-tests 2024.12, {EXAMPLES} examples",
        "array-api-tests",
        ("array_api_tests", "--max-examples", str(EXAMPLES), "--disable-deadline"),
        "item_assignment",
        (
            ("ARRAY_API_TESTS_MODULE", "tensor_runtime.array_api"),
            ("ARRAY_API_TESTS_VERSION", "2024.12"),
            ("ARRAY_API_TESTS_SKIP_DTYPES", FOREIGN),
        ),
    ),
    Client(
        "numpy",
        "its tests of einsum, with ours",
        None,
        ("--pyargs", "numpy._core.tests.test_einsum"),
        "numpy_einsum",
    ),
    _script("lending", "PyTorch, JAX and NumPy, both ways", "test_lending.py"),
    _script("quimb", "networks, beside NumPy's arrays", "test_quimb.py"),
    _script("page", "what docs/clients.md shows", "test_pages.py", "", _BY_THE_STANDARD),
    _script("scipy", "functions of the array API standard", "test_scipy.py", "item_assignment", _BY_THE_STANDARD),
    _script("sklearn", "PCA and others by the standard", "test_sklearn.py", "item_assignment", _BY_THE_STANDARD),
)
"""Every suite, by the name under which ``reasons.txt`` knows it."""
