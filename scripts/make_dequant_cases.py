#!/usr/bin/env python3
"""Write src/tensor/testdata/dequant_cases.bin: random blocks of every tensor type and their exact f32 values.

The oracle is gguf.quants.dequantize of the PyPI package `gguf` (numpy).

  pip install gguf && python3 scripts/make_dequant_cases.py

File: per type, little-endian u32 type number, u32 elements, u32 bytes, the blocks, then the elements as f32.
"""
import pathlib
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

TYPES = [T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K,
         T.IQ4_NL, T.IQ4_XS, T.MXFP4]
# Byte offsets of the half-precision scales inside a block.
HALVES = {T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0]}
ELEMENTS = 768  # 3 super-blocks, 24 plain blocks


def random_blocks(rng, kind):
    elems, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (ELEMENTS // elems, size), dtype=np.uint8)
    for offset in HALVES.get(kind, []):
        # Any finite half, both signs and subnormals included; the last block holds the largest one.
        half = rng.integers(0, 0x7c00, len(blocks), dtype=np.uint16) | (rng.integers(0, 2, len(blocks)) << 15)
        half = half.astype("<u2")
        half[0], half[-1] = 0x0001, 0xfbff
        blocks[:, offset:offset + 2] = half.view(np.uint8).reshape(-1, 2)
    if kind == T.MXFP4:
        blocks[:4, 0] = [0, 1, 2, 255]  # both subnormal scales, the smallest normal one, the largest
    return blocks


def drop_nans(raw, kind):
    """NaN payloads are no part of the golden data: half_test.cc covers them."""
    dtype, exponent = {T.F32: ("<u4", 0x7f800000), T.F16: ("<u2", 0x7c00), T.BF16: ("<u2", 0x7f80)}[kind]
    words = raw.reshape(-1).view(dtype)
    words[(words & exponent) == exponent] &= 0xffffffff >> 8 if dtype == "<u4" else 0x80ff if kind == T.F16 else 0x807f
    return raw


def expected(raw, kind):
    if kind == T.F32:
        return raw.reshape(-1).view("<f4")
    if kind == T.F16:
        return raw.reshape(-1).view("<f2").astype("<f4")
    return gguf.quants.dequantize(raw, kind).reshape(-1).astype("<f4")


def main():
    rng = np.random.default_rng(20261130)
    out = pathlib.Path(__file__).resolve().parent.parent / "src/tensor/testdata/dequant_cases.bin"
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "wb") as file:
        for kind in TYPES:
            raw = random_blocks(rng, kind)
            if kind in (T.F32, T.F16, T.BF16):
                raw = drop_nans(raw, kind)
            with np.errstate(over="ignore"):
                values = expected(raw, kind)
            assert len(values) == ELEMENTS and not np.isnan(values).any(), kind
            file.write(struct.pack("<III", kind, ELEMENTS, raw.size) + raw.tobytes() + values.tobytes())
    print(f"{out.name}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
