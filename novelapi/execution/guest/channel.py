"""Frames over a stream socket: four bytes of length, then JSON. Runs inside the sandbox."""

import json
import struct

MAX_FRAME = 32 << 20
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().decode


class Closed(BaseException):
    """The other side is gone; not an Exception, so that no completion catches it by accident."""


class Channel:
    """One end of the conversation with the judge."""

    def __init__(self, sock):
        self.sock = sock
        self._send, self._recv = sock.sendall, sock.recv_into

    def send(self, message):
        data = _encode(message).encode("ascii")
        self._send(struct.pack(">I", len(data)) + data)

    def receive(self):
        size = struct.unpack(">I", self._exactly(4))[0]
        if size > MAX_FRAME:
            raise Closed("frame of %d bytes" % size)
        return _decode(self._exactly(size).decode("utf-8"))

    def _exactly(self, size):
        data = bytearray(size)
        view, filled = memoryview(data), 0
        while filled < size:
            count = self._recv(view[filled:])
            if count == 0:
                raise Closed("end of stream")
            filled += count
        return bytes(data)
