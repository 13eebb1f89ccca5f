"""The commands on files of tensors: `info`, `convert` and `svd`; each error is one line and status 2."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from ironstride.pictures.spectra import entropy, rank_for, truncation_errors
from ironstride.program.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = np.arange(24.0).reshape(4, 6)
    np.save("rows.npy", rows)
    np.save("columns.npy", np.asfortranarray(rows).astype(np.float32))
    np.savez("many.npz", a=rows, b=np.arange(5), c=np.asfortranarray(np.ones((2, 2), np.complex64)), d=np.True_)
    np.savez_compressed("small.npz", only=rows)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the program says to arguments that it refuses, on one line."""
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("ironstride: ") and error.count("\n") == 1
    return error[len("ironstride: ") : -1]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("rows.npy", [("", "F64", "float64", [4, 6], "row-major", 192)]),
        ("columns.npy", [("", "F32", "float32", [4, 6], "column-major", 96)]),
        (
            "many.npz",
            [
                ("a", "F64", "float64", [4, 6], "row-major", 192),
                ("b", "I64", "int64", [5], "either", 40),
                ("c", "C32", "complex64", [2, 2], "column-major", 32),
                ("d", "Bool", "bool", [], "either", 1),
            ],
        ),
    ],
)
def test_info_tells_what_is_in_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, expected: list[tuple[object, ...]]
) -> None:
    assert main(["info", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    names = ("name", "dtype", "numpy", "shape", "order", "bytes")
    assert found["tensors"] == [dict(zip(names, row, strict=True)) for row in expected]
    assert found["bytes"] == sum(row[-1] for row in expected if isinstance(row[-1], int))

    assert main(["info", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(expected)
    for line, (name, dtype, *_) in zip(lines[2:], expected, strict=True):
        assert line.split()[:2] == [name or "-", dtype]


def test_a_tensor_that_cannot_be_read_hides_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("some.npz", x=np.arange(3), text=np.array(["no tensor"]), wide=np.longdouble([1, 2]))

    assert main(["info", "some.npz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:4]] == [
        ["x", "I64", "(int64)", "3", "either", "24", "B"],
        ["wide", "not", "read"],
    ]
    assert lines[4].startswith("not read: load: the elements of 'some.npz', member 'wide.npy' are '<f16'; accepted: ")
    assert main(["info", "some.npz", "--json"]) == 0
    x, wide = json.loads(capsys.readouterr().out)["tensors"]
    assert (x["name"], x["bytes"], wide["name"], wide["error"]) == (
        "x",
        24,
        "wide",
        lines[4].removeprefix("not read: "),
    )

    assert main(["convert", "some.npz", "x.npy", "--name", "x"]) == 0
    assert np.load("x.npy").tolist() == [0, 1, 2]
    capsys.readouterr()
    for command, said in [
        (["convert", "some.npz", "y.npy", "--name", "wide"], "member 'wide.npy' are '<f16'"),
        (["convert", "some.npz", "y.npy", "--name", "text"], "member 'text.npy' are '<U9'"),
        (["convert", "some.npz", "y.npz"], "member 'wide.npy' are '<f16'"),
        (["svd", "some.npz"], "the file holds 2 tensors, and no --name; its tensors: 'x', 'wide'"),
        (["svd", "some.npz", "--name", "z"], "the file holds no tensor 'z'; its tensors: 'x', 'wide'"),
    ]:
        assert main(command) == 2
        assert said in capsys.readouterr().err
    assert not Path("y.npy").exists()


def test_names_in_a_file_do_not_move_the_cursor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile("many.npz") as archive, zipfile.ZipFile("odd.npz", "w") as odd:
        odd.writestr("a\x1b[2Jb.npy", archive.read("a.npy"))

    assert main(["info", "odd.npz"]) == 0

    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "none.npy"], "No such file or directory"),
        (["info", "none.npz"], "No such file or directory"),
        (["info", "bad.npy"], "bad.npy"),
        (["info", "bad.npz"], "no ZIP archive"),
        (["info", "short.npy"], "cut short"),
        (["convert", "unsigned.npy", "new.npy"], "ironstride convert --dtype I32 converts them"),
        (["convert", "unsigned.npy", "new.npy", "--dtype", "I32", "--name", "a"], "no tensor 'a'"),
        (["convert", "many.npz", "new.npy"], "choose it by --name: 'a', 'b', 'c', 'd'"),
        (["convert", "many.npz", "new.npy", "--name", "e"], "no tensor 'e'; its tensors: 'a', 'b', 'c', 'd'"),
        (["convert", "rows.npy", "new.bin"], "the new file: 'new.bin' ends in '.bin'; accepted: .npy, .npz"),
        (["convert", "rows.npy", "new.bin"], "--to-raw F writes elements and nothing else"),
        (["convert", "rows.npy", "new.bin", "--to-format", "hdf4"], "format is 'hdf4'; accepted: 'npy'"),
        (["convert", "rows.npy", "new.bin", "--to-format", "npy", "--to-raw", "F"], "a raw file has no format"),
        (["convert", "rows.npy", "new.npy", "--to-byteorder", "big"], "--to-byteorder big describes a raw file"),
        (["convert", "many.npz", "new.bin", "--to-raw", "F"], "choose it by --name: 'a', 'b', 'c', 'd'"),
        (["info", "raw.bin"], 'the ending ".bin" says no format; accepted: .npy, .npz, .safetensors, .h5'),
        (["info", "raw.bin"], "a raw file, elements and nothing else, takes --raw F64 --shape 2x3 --order F"),
        (["info", "raw"], "does not start as an .npy file does"),
        (["info", "raw"], "a name without an ending stands for .npy: --format says which it is"),
        (["info", "raw.bin", "--format", "raw"], "format is 'raw'; accepted: 'npy'"),
        (["info", "raw.bin", "--format", "npz"], "no ZIP archive"),
        (["plan", "ij,jk->ik"], '"ij,jk->ik" has no shapes; write the shape of each operand after it'),
        (["info", "raw.bin", "--raw", "F64", "--format", "npy"], "a raw file has no format; give one of the two"),
        (["info", "raw.bin", "--raw", "F64"], "--raw F64 takes --shape, such as --shape 2x3"),
        (["info", "raw.bin", "--raw", "F16", "--shape", "6"], "--raw: found 'F16'; accepted: our dtypes, and bfloat16"),
        (["info", "raw.bin", "--raw", "F64", "--shape", "2x3"], "--shape 2x3 takes --order: F column-major"),
        (["info", "raw.bin", "--raw", "F64", "--shape", "2xx3"], 'found "2xx3"; accepted: a shape'),
        (["info", "raw.bin", "--raw", "F64", "--shape", "7"], "F64 (7,) takes 56 bytes, and 48 are there"),
        (["info", "raw.bin", "--raw", "F64", "--shape", "6", "--offset", "8"], "takes 48 bytes, and 40 are there"),
        (["info", "raw.bin", "--raw", "F64", "--shape", "6", "--offset", "99"], "takes 48 bytes, and 0 are there"),
        (["svd", "raw.bin", "--raw", "F64", "--shape", "2"], "takes 16 bytes, and 48 are there; --offset says where"),
        (["convert", "raw.bin", "new.npy", "--raw", "Bool", "--shape", "48"], "neither 0 nor 1"),
        (
            ["convert", "raw.bin", "new.npy", "--raw", "uint8", "--shape", "48"],
            "ironstride convert --dtype I32 converts them",
        ),
        (["svd", "rows.npy", "--offset", "0"], "--offset 0 describes a raw file; --raw F64 says that it is one"),
        (["convert", "rows.npy", "new.npy", "--dtype", "I64"], "--dtype I64: F64 can lose values there; --cast"),
        (["convert", "rows.npy", "new.npy", "--dtype", "F16"], "F16"),
        (["convert", "rows.npy", "rows.npy"], "rows.npy is a file that is read; give the new one another name"),
        (["convert", "rows.npy", "bad.npy/new.npy"], "cannot be written"),
        (["svd", "rows.npy", "--rows", "0,2"], "--rows 0,2: the tensor has 2 axes, 4x6"),
        (["svd", "rows.npy", "--rows", "0,-2"], "an axis is there twice"),
        (["svd", "many.npz"], "4 tensors, and no --name"),
        (["svd", "many.npz", "--name", "d"], "the tensor has 0 axes"),
        (["svd", "infinite.npy"], "svd"),
        (
            ["svd", "raw.svg", "--raw", "F64", "--shape", "6", "--plot", "raw.svg"],
            "--plot raw.svg is a file that is read; give the new one another name",
        ),
        (["svd", "rows.npy", "--plot", "s.txt"], "--plot s.txt: the ending must be .svg or .png or .pdf"),
    ],
)
def test_errors_are_one_line_and_change_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (folder / "bad.npy").write_bytes(b"nothing")
    (folder / "bad.npz").write_bytes(b"nothing")
    (folder / "short.npy").write_bytes((folder / "rows.npy").read_bytes()[:-8])
    for name in ("raw.bin", "raw", "raw.svg"):
        np.arange(6.0).tofile(name)
    np.save("unsigned.npy", np.arange(3, dtype=np.uint16))
    np.save("infinite.npy", np.full((2, 2), np.inf))
    before = sorted((file.name, file.read_bytes()) for file in folder.iterdir())

    assert said in refused(capsys, *arguments)

    assert sorted((file.name, file.read_bytes()) for file in folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["svd", "x.npy", "--rows", "a"],
        ["svd", "x.npy", "--cutoff", "-1"],
        ["info"],
        ["info", "x.bin", "--offset", "-1"],
        ["info", "x.bin", "--order", "A"],
        ["info", "x.bin", "--byteorder", "middle"],
    ],
)
def test_arguments_that_cannot_be_read_end_with_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_convert_keeps_the_meaning_of_every_index(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "rows.npy", "deep/new.npy"]) == 0
    assert main(["convert", "small.npz", "only.npy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"saved": "only.npy", "tensors": 1, "names": ["only"]}

    for name in ("deep/new.npy", "only.npy"):
        assert np.array_equal(np.load(name), np.load("rows.npy"))
        assert np.load(name).flags.f_contiguous


@pytest.mark.parametrize("ending", ["npz", "safetensors", "h5", "mat", "zarr"])
def test_convert_takes_names_through_every_format_that_has_them(
    folder: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    assert main(["convert", "rows.npy", f"one.{ending}"]) == 0
    assert main(["convert", f"one.{ending}", "back.npy", "--name", "tensor"]) == 0
    assert np.array_equal(np.load("back.npy"), np.load("rows.npy"))

    names = ["--name", "a"] if ending == "mat" else []  # MAT files have no vectors
    assert main(["convert", "many.npz", f"all.{ending}", *names]) == 0
    capsys.readouterr()
    assert main(["info", f"all.{ending}", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["tensors"]}
    assert sorted(found) == (["a"] if names else ["a", "b", "c", "d"])
    assert (found["a"]["shape"], found["a"]["dtype"]) == ([4, 6], "F64")


def test_elements_of_other_types_are_told_and_converted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("half.npy", np.arange(6, dtype=np.float16).reshape(2, 3))
    assert main(["info", "half.npy"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["-", "float16", "2x3", "row-major", "12", "B"]
    assert main(["convert", "half.npy", "whole.npy", "--dtype", "F32"]) == 0
    assert np.array_equal(np.load("whole.npy"), np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize(("order", "said"), [("F", "column-major"), ("C", "row-major")])
def test_info_of_a_raw_file_tells_what_the_options_say(
    folder: Path, capsys: pytest.CaptureFixture[str], order: str, said: str
) -> None:
    Path("raw.bin").write_bytes(bytes(96))

    assert main(["info", "raw.bin", "--raw", "complex64", "--shape", "3x4", "--order", order, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["tensors"]
    assert (found["name"], found["dtype"], found["shape"], found["order"]) == ("", "C32", [3, 4], said)

    assert main(["info", "raw.bin", "--raw", "float16", "--shape", "5", "--offset", "86"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["-", "float16", "5", "either", "10", "B"]
    assert main(["info", "raw.bin", "--raw", "I64", "--shape", "()", "--offset", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["-", "I64", "(int64)", "()", "either", "8", "B"]


def test_convert_reads_raw_files_of_either_order_and_byte_order(folder: Path) -> None:
    rows = np.load("rows.npy")
    Path("record.bin").write_bytes(b"size" + rows.tobytes("F") + b"size")  # as Fortran writes records
    rows.astype(">f4").tofile("big.bin")

    raw = ["--shape", "4x6", "--raw"]
    assert main(["convert", "record.bin", "a.npy", *raw, "F64", "--order", "F", "--offset", "4"]) == 0
    assert main(["convert", "big.bin", "b.npy", *raw, "F32", "--order", "C", "--byteorder", "big"]) == 0
    rows.astype(np.uint8).T.tofile("c.bin")
    assert main(["convert", "c.bin", "c.npz", *raw, "uint8", "--order", "F", "--dtype", "I32", "--name", ""]) == 0

    assert np.array_equal(np.load("a.npy"), rows)
    assert np.array_equal(np.load("b.npy"), rows.astype(np.float32))
    assert np.array_equal(np.load("c.npz")["tensor"], rows.astype(np.int32))


def test_convert_writes_raw_files_of_either_order_and_byte_order(folder: Path) -> None:
    rows = np.load("rows.npy")

    assert main(["convert", "rows.npy", "f.bin", "--to-raw", "F"]) == 0
    assert main(["convert", "rows.npy", "c.bin", "--to-raw", "C", "--to-byteorder", "big", "--dtype", "C64"]) == 0
    assert main(["convert", "rows.npy", "weights.v1", "--to-format", "mat73"]) == 0

    assert Path("f.bin").read_bytes() == rows.tobytes("F")
    assert Path("c.bin").read_bytes() == rows.astype(">c16").tobytes("C")
    assert np.array_equal(tr.load("weights.v1", format="mat73").to_numpy(), rows)


def test_svd_of_a_raw_file_is_that_of_its_tensor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.diag([3.0, 4.0]).tofile("raw.bin")

    assert main(["svd", "raw.bin", "--raw", "F64", "--shape", "2x2", "--order", "C", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["singular_values"] == [4.0, 3.0]


@pytest.mark.parametrize(("file", "format"), [("rows.npy", "npy"), ("many.npz", "npz")])
def test_format_says_what_an_ending_does_not(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, format: str
) -> None:
    assert main(["info", file, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["tensors"]
    for name in ("model.weights", "model"):
        Path(file).replace(name)
        assert main(["info", name, "--format", format, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["tensors"] == said
        file = name


def test_convert_changes_the_dtype_and_loses_only_what_it_may(folder: Path) -> None:
    assert main(["convert", "rows.npy", "complex.npy", "--dtype", "complex128"]) == 0
    assert main(["convert", "many.npz", "short.npy", "--name", "a", "--dtype", "I32", "--cast"]) == 0

    assert np.load("complex.npy").dtype == np.complex128
    assert np.array_equal(np.load("short.npy"), np.arange(24, dtype=np.int32).reshape(4, 6))


def test_svd_cuts_a_tensor_where_it_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    np.save("cube.npy", x)

    assert main(["svd", "cube.npy", "--rows", "2,0", "--cutoff", "0.09", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    expected = np.linalg.svd(x.transpose(2, 0, 1).reshape(15, 4), compute_uv=False)
    errors = [math.sqrt(sum(expected[k:] ** 2) / sum(expected**2)) for k in range(1, 5)]
    assert (found["shape"], found["matrix"]) == ([3, 4, 5], [15, 4])
    assert np.allclose(found["singular_values"], expected, rtol=1e-13)
    assert np.allclose(found["errors"], errors, rtol=1e-12, atol=0)
    kept = tl.split(tr.asarray(x), (2, 0), cutoff=0.09)
    assert found["rank"] == kept.s.size == next(k for k, error in enumerate(errors, 1) if error**2 <= 0.09)
    weights = expected**2 / sum(expected**2)
    assert math.isclose(found["entropy"], -sum(weights * np.log(weights)), rel_tol=1e-12)


@pytest.mark.parametrize(("largest", "norm"), [(1e308, "2.00000000000e+308"), (1e-300, pytest.approx(2e-300))])
def test_svd_of_numbers_whose_squares_are_no_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], largest: float, norm: object
) -> None:
    np.save("x.npy", largest * np.array([[1.0, 1.0], [1.0, -1.0]]))

    assert main(["svd", "x.npy", "--json", "--cutoff", "0.1"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["norm"], found["rank"]) == (norm, 2)
    assert found["errors"] == pytest.approx([math.sqrt(0.5), 0.0])

    assert main(["svd", "x.npy"]) == 0
    assert f"norm      {norm if isinstance(norm, str) else '2e-300'}\n" in capsys.readouterr().out


def test_errors_advise_what_a_shell_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("half.npy", np.array([1, 2], np.float16))
    np.save("nan.npy", np.array([[np.nan, 1.0], [1.0, 1.0]]))
    np.save("large.npy", np.array([1e20]))

    assert "; ironstride convert --dtype F32 converts them (accepted: F32" in refused(capsys, "svd", "half.npy")
    assert (
        refused(capsys, "svd", "nan.npy").rstrip().endswith("holds nan at element (0, 0); accepted: finite values only")
    )
    said = refused(capsys, "convert", "large.npy", "x.npy", "--dtype", "I32", "--cast")
    assert said.rstrip().endswith("accepted: -2147483648 to 2147483647")


def test_svd_of_integers_and_of_a_zero_tensor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("none.npy", np.zeros((3, 2), np.int64))

    assert main(["svd", "none.npy", "--cutoff", "0.1", "--plot", "none.svg"]) == 0

    said = capsys.readouterr().out
    assert "rank 1, error 0.000e+00" in said and said.endswith("drawn none.svg\n")
    assert Path("none.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_tensor_without_elements_has_no_spectrum(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tr.save("empty.npy", tr.zeros((0, 3)))

    assert main(["svd", "empty.npy", "--cutoff", "0.1"]) == 0

    assert capsys.readouterr().out == "0x3 as a matrix of 0x3: 0 singular values\n"


def test_errors_of_a_spectrum_fall_to_zero_and_ranks_keep_them() -> None:
    errors = truncation_errors([4.0, 2.0, 2.0, 1.0])
    assert errors == [3 / 5, math.sqrt(5) / 5, 1 / 5, 0.0]
    found = [rank_for([4.0, 2.0, 2.0, 1.0], cutoff) for cutoff in (1.0, 0.37, 0.25, 0.21, 0.05, 0.03, 0.0)]
    assert found == [1, 1, 3, 3, 3, 4, 4], "values that are equal stay together, as in split"
    assert entropy([1e-300] * 8) == pytest.approx(math.log(8), rel=1e-14)
    assert entropy([0.0]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "raw.bin", "--raw", "F64", "--offset", "x"], "--offset: found x; accepted: a number of bytes"),
        (["svd", "rows.npy", "--cutoff", "small"], "--cutoff: found small; accepted: a number from 0 on"),
        (["bench", "--threads", "two"], "--threads: found two; accepted: 1 or more"),
        (["bench", "--threads", "0"], "--threads: found 0; accepted: 1 or more"),
        (["bench", "--seconds", "nan"], "--seconds: found nan; accepted: a number of seconds above 0"),
    ],
)
def test_options_that_are_no_such_number_are_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
