"""Files: what we save is read by the library that the format belongs to, and what that library saves by us."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import h5py
import numpy as np
import safetensors.numpy
import scipy.io
import zarr
from zarr.codecs import GzipCodec

import tensor_runtime as tr
from crossings.samples import Array, Folder, Sample, Way
from tensor_core.dtypes import as_dtype

Order = Literal["F", "C"]
_CLASSES: Final = {"bool": "logical", "float32": "single", "float64": "double", "complex64": "single"}
_BANNER: Final = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"


def ways(folder: Folder) -> list[Way]:
    """Every format, and the options that lay elements otherwise."""
    named = partial(_named, folder)
    return [
        _one(folder, "F"),
        _one(folder, "C"),
        named("`.npz`", ".npz", "NumPy", _npz, lambda path, a: np.savez(path, x=a)),
        named("`.npz`, compressed", ".npz", "NumPy", _npz, lambda path, a: np.savez_compressed(path, x=a), _PACKED),
        named("safetensors", ".safetensors", "safetensors", _safetensors, _save_safetensors),
        named("HDF5", ".h5", "h5py", _hdf5, _save_hdf5),
        named("HDF5, compressed", ".h5", "h5py", _hdf5, partial(_save_hdf5, packed=True), _PACKED),
        named("HDF5, `reverse_dims`", ".h5", "h5py", _reversed_hdf5, _save_reversed, {"reverse_dims": True}),
        named("MAT 5", ".mat", "SciPy", _mat5, partial(_save_mat5, packed=False), becomes=_as_matlab),
        named("MAT 5, compressed", ".mat", "SciPy", _mat5, partial(_save_mat5, packed=True), _PACKED, _as_matlab),
        named("MAT 7.3", ".mat", "h5py", _mat73, _save_mat73, {"format": "mat73"}, _as_matlab),
        named("Zarr", ".zarr", "zarr", _zarr, partial(_save_zarr, packed=False)),
        named("Zarr, compressed", ".zarr", "zarr", _zarr, partial(_save_zarr, packed=True), _PACKED),
        _raw(folder, "F", "little"),
        _raw(folder, "F", "big"),
        _raw(folder, "C", "little"),
    ]


_PACKED: Final = {"compressed": True}


def _named(
    folder: Folder,
    name: str,
    ending: str,
    partner: str,
    read: Callable[[Path], Array],
    save: Callable[[Path, Array], object],
    options: dict[str, Any] | None = None,
    becomes: Callable[[Array], Array] = lambda array: array,
) -> Way:
    """A format that holds tensors by name."""

    def saved(x: tr.Tensor) -> Path:
        path = folder.new(ending)
        tr.save(path, {"x": x}, **(options or {}))
        return path

    def take(sample: Sample) -> tuple[tr.Tensor, None]:
        path = folder.new(ending)
        save(path, sample.array)
        turned = True if (options or {}).get("reverse_dims") else None  # h5py leaves no mark
        return tr.load(path, "x", reverse_dims=turned), None

    return Way(name, partner, lambda _, x: read(saved(x)), take, lambda _, x: tr.load(saved(x), "x"), becomes)


def _one(folder: Folder, order: Order) -> Way:
    def saved(x: tr.Tensor) -> Path:
        path = folder.new(".npy")
        tr.save(path, x, order=order)
        return path

    def take(sample: Sample) -> tuple[tr.Tensor, None]:
        path = folder.new(".npy")
        np.save(path, np.asarray(sample.array, order=order))
        return tr.load(path), None

    name = f'`.npy`, `order="{order}"`'
    return Way(name, "NumPy", lambda _, x: np.load(saved(x)), take, lambda _, x: tr.load(saved(x)))


def _raw(folder: Folder, order: Order, byteorder: Literal["little", "big"]) -> Way:
    def saved(x: tr.Tensor) -> Path:
        path = folder.new(".bin")
        tr.save_raw(path, x, order=order, byteorder=byteorder)
        return path

    def loaded(path: Path, sample: Sample) -> tr.Tensor:
        return tr.load_raw(path, sample.array.shape, sample.dtype, order=order, byteorder=byteorder)

    def give(sample: Sample, x: tr.Tensor) -> Array:
        stored = sample.array.dtype.newbyteorder(byteorder)
        return np.fromfile(saved(x), stored).astype(sample.array.dtype).reshape(sample.array.shape, order=order)

    def take(sample: Sample) -> tuple[tr.Tensor, None]:
        path = folder.new(".bin")
        sample.array.astype(sample.array.dtype.newbyteorder(byteorder)).ravel(order).tofile(path)
        return loaded(path, sample), None

    name = f'raw, `order="{order}"`' + (", big-endian" if byteorder == "big" else "")
    return Way(name, "NumPy", give, take, lambda sample, x: loaded(saved(x), sample))


def _npz(path: Path) -> Array:
    with np.load(path) as found:
        array: Array = found["x"]
        return array


def _safetensors(path: Path) -> Array:
    return safetensors.numpy.load_file(path)["x"]


def _save_safetensors(path: Path, array: Array) -> None:
    safetensors.numpy.save_file({"x": array.copy(order="C")}, path)


def _hdf5(path: Path) -> Array:
    with h5py.File(path) as file:
        return np.asarray(file["x"][()])


def _save_hdf5(path: Path, array: Array, packed: bool = False) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, compression="gzip" if packed and array.size > 1 else None)


def _reversed_hdf5(path: Path) -> Array:
    return _hdf5(path).T


def _save_reversed(path: Path, array: Array) -> None:
    _save_hdf5(path, array.T)


def _as_matlab(array: Array) -> Array:
    """MATLAB has no rank below 2."""
    return array.reshape(array.shape + (1,) * (2 - array.ndim))


def _mat5(path: Path) -> Array:
    ((_, _, kind),) = scipy.io.whosmat(path)
    array: Array = scipy.io.loadmat(path)["x"]
    return array.astype(bool) if kind == "logical" else array


def _save_mat5(path: Path, array: Array, packed: bool) -> None:
    scipy.io.savemat(path, {"x": array}, do_compression=packed, oned_as="column")


def _mat73(path: Path) -> Array:
    """A variable as MATLAB documents version 7.3: HDF5 with extents in reverse, its class in an attribute."""
    with h5py.File(path) as file:
        node = file["x"]
        kind = node.attrs["MATLAB_class"].decode()
        name = next((name for name, one in _CLASSES.items() if one == kind), kind)
        if node.attrs.get("MATLAB_empty", 0):
            return np.zeros(tuple(map(int, node[()])), name)
        array = np.asarray(node[()]).T
    if array.dtype.names:
        made = np.empty(array.shape, as_dtype("C32" if array.dtype["real"].itemsize == 4 else "C64").numpy_name)
        made.real, made.imag = array["real"], array["imag"]
        return made
    return array.astype(bool) if kind == "logical" else array


def _save_mat73(path: Path, array: Array) -> None:
    array = _as_matlab(array)
    kind = _CLASSES.get(array.real.dtype.name, array.dtype.name)
    stored: Array = array.astype("u1") if kind == "logical" else array
    if array.dtype.kind == "c":
        stored = np.empty(array.shape, [("real", array.real.dtype), ("imag", array.real.dtype)])
        stored["real"], stored["imag"] = array.real, array.imag
    with h5py.File(path, "w", userblock_size=512) as file:
        node = file.create_dataset("x", data=stored.T if array.size else np.array(array.shape, "u8"))
        node.attrs["MATLAB_class"] = np.bytes_(kind)
        if not array.size:
            node.attrs["MATLAB_empty"] = np.uint8(1)
    with path.open("r+b") as raw:
        raw.write(_BANNER)


def _zarr(path: Path) -> Array:
    group: Any = zarr.open_group(path, mode="r")
    return np.asarray(group["x"][...])


def _save_zarr(path: Path, array: Array, packed: bool) -> None:
    group: Any = zarr.open_group(path, mode="w")
    data = np.ascontiguousarray(array).reshape(array.shape)
    # It leaves out chunks of zeros by default, and with them the sign of a complex -0.0.
    stored = {"write_empty_chunks": True}
    group.create_array("x", data=data, compressors=GzipCodec() if packed else None, config=stored)
