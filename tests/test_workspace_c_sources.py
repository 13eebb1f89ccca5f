"""What ``make check`` says about C sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import check_c

WRONG = {
    "a sign that changes": "unsigned f(int);\nunsigned f(int x) { return (unsigned)x + x; }\n",
    "a name that hides another": "int g;\nint f(int);\nint f(int x) { return x + ({ int x = 1; x; }); }\n",
    "a function without a prototype": "int f() { return 1; }\n",
    "a const that is cast away": "char *f(const char *);\nchar *f(const char *x) { return (char *)x; }\n",
}


@pytest.mark.parametrize("compiler", check_c.COMPILERS)
@pytest.mark.parametrize("what", WRONG)
def test_a_compiler_complains_about(what: str, compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "wrong.c"
    source.write_text(WRONG[what], encoding="utf-8")
    command = check_c.build_script().Compiler([compiler])

    assert check_c.run(check_c.reading(command, source)).returncode
    source.write_text("int f(int);\nint f(int x) { return x; }\n", encoding="utf-8")
    assert not check_c.run(check_c.reading(command, source)).returncode


def test_a_source_in_another_format_is_named(tmp_path: Path) -> None:
    shutil.copy(check_c.PACKAGE / ".clang-format", tmp_path)
    source = tmp_path / "crooked.c"
    source.write_text("int f ( void ){return 1;}\n", encoding="utf-8")

    (complaint,) = check_c.complaints_of_format([source])
    assert "crooked.c:1" in complaint
    source.write_text("int f(void) { return 1; }\n", encoding="utf-8")
    assert check_c.complaints_of_format([source]) == []
