#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_fixtures.py FOLDER: writes the files that files_test reads, with NumPy. The stored ones are of NumPy 2."""
import pathlib
import struct
import sys
import zlib

import numpy

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
numbers = numpy.array([[0, 1, 2], [100, 101, 102]])
for name in ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
    label = "b1" if name == "?" else name
    array = (numbers % 2).astype(name) if name == "?" else numbers.astype(name)
    numpy.save(folder / f"{label}.npy", array)
    numpy.save(folder / f"{label}-fortran.npy", numpy.asfortranarray(array))
    numpy.save(folder / f"{label}-big.npy", array.astype(">" + name))
numpy.save(folder / "number.npy", numpy.float32(2.5))
numpy.save(folder / "empty.npy", numpy.zeros((0, 3), "f4"))
numpy.save(folder / "three.npy", numpy.asfortranarray(numpy.arange(24, dtype="i4").reshape(2, 3, 4)))
numpy.save(folder / "records.npy", numpy.zeros(2, dtype=[("x", "f4"), ("n", "i4")]))
numpy.save(folder / "complex.npy", numpy.zeros(2, dtype="c8"))
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(folder / f"version-{version[0]}.npy", "wb") as file:
        numpy.lib.format.write_array(file, numbers.astype("f8"), version=version)
numpy.savez(folder / "stored.npz", weights=numbers.astype("f4"), bias=numpy.arange(5, dtype=">i2"))
numpy.savez_compressed(folder / "deflated.npz", weights=numbers.astype("f4"), zeros=numpy.zeros(5000, "u1"))


def png(name, width, height, bits, colour, rows, *chunks):
    """A PNG file from rows of packed bytes, without a library."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(row) for row in rows)
    (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*c) for c in chunks) +
                                chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


png("grey-1.png", 3, 2, 1, 0, [[0b10100000], [0b01000000]])
png("grey-16.png", 2, 1, 16, 0, [[0x12, 0x34, 0xff, 0x00]])
png("palette.png", 3, 1, 2, 3, [[0b00011000]], (b"PLTE", bytes([10, 20, 30, 40, 50, 60, 70, 80, 90])))
png("palette-opacity.png", 2, 1, 8, 3, [[1, 0]], (b"PLTE", bytes([10, 20, 30, 40, 50, 60])), (b"tRNS", bytes([7])))
png("large.png", 60000, 60000, 8, 0, [[0]])
