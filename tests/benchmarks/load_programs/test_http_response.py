"""HTTP answers in every shape and cut into every piece."""

import pytest

from benchmarks.load_programs.http_response import Answer, NotHttp

BODY = b"0123456789" * 50
WITH_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + BODY
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1F4;note=1\r\n" + BODY + b"\r\n3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"
)
UNTIL_CLOSED = b"HTTP/1.0 503 Busy\r\nX: y\r\n\r\nno room\n"


def read(wire: bytes, size: int, *, closed: bool = False) -> Answer:
    answer = Answer()
    for at in range(0, len(wire), size):
        assert not answer.done
        answer.feed(wire[at : at + size])
    if closed:
        answer.closed()
    return answer


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_every_shape_is_read_whole_however_it_is_cut(size: int) -> None:
    for wire, closed, expected in (
        (WITH_LENGTH, False, (200, True, True, b"")),
        (CHUNKED, False, (200, True, True, b"")),
        (UNTIL_CLOSED, True, (503, True, False, b"no room\n")),
        (b"HTTP/1.1 204 None\r\nConnection: close\r\n\r\n", False, (204, True, False, b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + WITH_LENGTH, False, (200, True, True, b"")),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", False, (200, True, True, b"")),
    ):
        answer = read(wire, size, closed=closed)
        assert (answer.status, answer.done, answer.reusable, answer.beginning) == expected
        assert answer.size_bytes == len(wire)


def test_an_empty_body_with_a_length_is_done_with_its_head() -> None:
    assert read(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 100).done


@pytest.mark.parametrize("cut", [10, 40, 60, len(WITH_LENGTH) - 1])
def test_an_answer_that_is_cut_off_is_never_done(cut: int) -> None:
    assert not read(WITH_LENGTH[:cut], 100, closed=True).done


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 two OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 " + b"x" * 70_000,
    ],
)
def test_what_is_no_http_is_told(wire: bytes) -> None:
    with pytest.raises(NotHttp):
        read(wire, len(wire))
