"""Tests libdevice functions by name, vector types and half precision."""

from __future__ import annotations

import math

import numpy as np

from cuprous import cuda
from cuprous.cuda import float16, int32, libdevice


def test_functions_of_libdevice() -> None:
    @cuda.jit
    def several(out, n, x):
        s, c = libdevice.sincos(x[0])
        fraction, exponent = libdevice.frexp(x[1])
        out[0], out[1], out[2], n[0] = s, c, fraction, exponent
        out[3] = libdevice.dadd_ru(1.0, 1e-30)
        out[4] = libdevice.sqrtf(x[1])
        n[1] = libdevice.sad(3, 10, 5)
        n[2] = libdevice.mulhi(1 << 30, 8)
        n[3] = libdevice.double2int_rd(-1.5)

    out, n = np.zeros(5), np.zeros(4, np.int32)
    several[1, 1](out, n, np.array([0.5, 9.0]))
    assert out.tolist() == [math.sin(0.5), math.cos(0.5), 0.5625, np.nextafter(1, 2), 3.0]
    assert n.tolist() == [4, 12, 2, -2]
    assert "__nv_frexp(double, int32*)" in several.cuda_source()
    assert len(dir(libdevice)) == 317


def test_vectors_are_made_of_numbers_and_vectors() -> None:
    @cuda.jit
    def vectors(out):
        a = cuda.float2(1, 2)
        b = cuda.float32x4(a, 3, cuda.float1(4))
        for k, v in enumerate((b.x, b.y, b.z, b.w)):
            out[k] = v
        out[4] = cuda.int3(7, 8, 9).z

    out = np.zeros(5)
    vectors[1, 1](out)
    assert out.tolist() == [1, 2, 3, 4, 9]


def test_half_precision_functions() -> None:
    @cuda.jit
    def from_half(out, x):
        a, b = x[0], x[1]
        out[0] = cuda.fp16.hadd(a, b)
        out[1] = cuda.fp16.hfma(a, b, a)
        out[2] = cuda.fp16.hsqrt(b)
        out[3] = cuda.fp16.hmax(a, b)
        out[4] = 1 if cuda.fp16.hlt(a, b) else 0
        out[5] = cuda.fp16.hexp10(a)

    out = np.zeros(6, np.float16)
    from_half[1, 1](out, np.array([1.5, 4.0], np.float16))
    assert out.tolist() == [5.5, 7.5, 2.0, 4.0, 1.0, np.float16(10**1.5)]
    assert float16 is not int32


def test_bits_digits_and_recursion() -> None:
    @cuda.jit("int64(int64)", device=True)
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    @cuda.jit
    def kernel(out, n, digits):
        out[0] = n.bit_count()
        out[1] = round(2.71828, digits)
        out[2] = fibonacci(10)

    out = np.zeros(3)
    kernel[1, 1](out, np.int32(0b1011), 3)
    assert out.tolist() == [3, 2.718, 55]
