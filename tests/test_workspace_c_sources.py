"""What ``make check`` says about C sources."""

from __future__ import annotations

import platform
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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the sets are those of x86")
def test_an_instruction_that_a_set_lacks_is_an_error_where_the_machine_lacks_the_set(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    build = check_c.build_script()
    compiler = build.Compiler(["gcc"])
    source = tmp_path / "wrong.c"
    source.write_text(
        "#include <immintrin.h>\n__m512i f(__m512i);\n__m512i f(__m512i x) { return _mm512_popcnt_epi64(x); }\n",
        encoding="utf-8",
    )
    unit = build.Unit(source, Path("wrong"), [*build.INSTRUCTION_SETS["avx512"], "-DSIMD_SET=avx512"])

    assert check_c.elsewhere(unit, ["plain", "avx2"])
    assert not check_c.elsewhere(unit, ["plain", "avx2", "avx512"])
    assert not check_c.elsewhere(unit._replace(flags=["-DNATIVE_PLAIN"]), ["plain"])
    assert not check_c.run(check_c.reading(compiler, source, unit.flags)).returncode
    assert "target specific option mismatch" in check_c.run(check_c.generating(compiler, unit)).stderr
    unit.flags.append("-mavx512vpopcntdq")
    assert not check_c.run(check_c.generating(compiler, unit)).returncode


def test_a_source_in_another_format_is_named(tmp_path: Path) -> None:
    shutil.copy(check_c.PACKAGE / ".clang-format", tmp_path)
    source = tmp_path / "crooked.c"
    source.write_text("int f ( void ){return 1;}\n", encoding="utf-8")

    (complaint,) = check_c.complaints_of_format([source])
    assert "crooked.c:1" in complaint
    source.write_text("int f(void) { return 1; }\n", encoding="utf-8")
    assert check_c.complaints_of_format([source]) == []
