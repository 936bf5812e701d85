"""Reads and writes PNG files with Python's standard library and NumPy, as far as the examples need it."""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write(path: str, image: np.ndarray) -> None:
    """Writes uint8 of shape (height, width, 3). Rows are stored as differences from the row above, which compress
    well."""
    height, width, _ = image.shape
    rows = np.full((height, 1 + width * 3), 2, np.uint8)  # each row begins with its filter type
    flat = image.reshape(height, -1)
    rows[:, 1:] = np.diff(flat, axis=0, prepend=np.zeros((1, width * 3), np.uint8))
    with open(path, "wb") as file:
        file.write(SIGNATURE)
        header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


def read(path: str) -> np.ndarray:
    """Reads a file that `write` wrote."""
    with open(path, "rb") as file:
        assert file.read(8) == SIGNATURE, f"{path} is no PNG file"
        packed, width, height = b"", 0, 0
        while (head := file.read(8)) and head[4:] != b"IEND":
            data = file.read(struct.unpack(">I", head[:4])[0])
            file.read(4)  # the checksum
            if head[4:] == b"IHDR":
                width, height, *kind = struct.unpack(">2I5B", data)
                assert kind == [8, 2, 0, 0, 0], f"{path} is no picture of 8-bit colours"
            elif head[4:] == b"IDAT":
                packed += data
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * 3)
    assert (rows[:, 0] == 2).all(), f"{path} was written by another program"
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)
