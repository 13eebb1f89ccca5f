"""Host memory of transfers stays until they have run, and downloads land then; on streams that are lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensor_gpu.cuda.staging import Staging


class Memory(bytearray):
    """Host memory, whose address is its number."""

    ptr: int


class Device:
    """Copies that run when they are told to; a point in a stream is how many were submitted before."""

    def __init__(self) -> None:
        self.made: list[Memory] = []
        self.submitted: list[Callable[[], None]] = []
        self.ran = 0
        self.memory = bytearray(range(64))
        self.staging = Staging(
            *(self.pin, lambda stream: len(self.submitted), lambda point: point <= self.ran, self.wait),
            piece=4,
            most=10,
        )

    def wait(self, point: int) -> None:
        self.run(point - self.ran)

    def pin(self, nbytes: int) -> Memory:
        self.made.append(Memory(nbytes))
        self.made[-1].ptr = len(self.made) - 1
        return self.made[-1]

    def run(self, count: int) -> None:
        for _ in range(count):
            self.submitted[self.ran]()
            self.ran += 1

    def upload(self, source: bytes | bytearray, target: int) -> None:
        def submit(address: int, start: int, nbytes: int) -> None:
            def work() -> None:
                self.memory[target + start : target + start + nbytes] = self.made[address][:nbytes]

            self.submitted.append(work)

        self.staging.upload("s", source, submit)

    def download(self, source: int, target: bytearray) -> None:
        def submit(address: int, start: int, nbytes: int) -> None:
            def work() -> None:
                self.made[address][:nbytes] = self.memory[source + start : source + start + nbytes]

            self.submitted.append(work)

        self.staging.download("s", target, submit)


@pytest.fixture
def device() -> Device:
    return Device()


def test_what_is_uploaded_is_taken_at_once(device: Device) -> None:
    given = bytearray(b"abc")
    device.upload(given, 5)
    given[:] = b"xyz"
    device.run(1)

    assert device.memory[4:9] == b"\x04abc\x08"


def test_downloads_land_in_their_order_when_they_have_run(device: Device) -> None:
    first, second = bytearray(2), bytearray(3)
    device.download(7, first)
    device.download(1, second)
    device.run(1)
    device.staging.land("s")
    assert (first, second, device.staging.streams()) == (b"\x07\x08", bytes(3), ("s",))
    device.run(1)
    device.staging.land("s")

    assert (second, device.staging.streams()) == (b"\x01\x02\x03", ())


def test_no_more_than_a_limit_waits_and_no_more_is_waited_for(device: Device) -> None:
    taken = bytearray(21)
    device.download(3, taken)

    assert [len(one) for one in device.made] == [4, 4, 4, 4, 4, 1]
    assert device.ran == 3  # pieces of 4, 4 and 1 bytes may wait
    assert taken == bytes(range(3, 15)) + bytes(9)
    device.run(3)
    device.staging.land("s")
    assert taken == bytes(range(3, 24))


def test_a_copy_whose_point_cannot_be_noted_leaves_nothing_behind(device: Device) -> None:
    def record(stream: object) -> int:
        raise RuntimeError("the device is lost")

    staging = Staging(device.pin, record, lambda point: True, device.wait, piece=4, most=10)
    with pytest.raises(RuntimeError, match="the device is lost"):
        staging.download("s", bytearray(3), lambda address, start, nbytes: None)
    assert staging.streams() == ()
    staging.land("s")
