#!/usr/bin/env python3
"""Write the seeds of fuzz/gguf_fuzz.cc: small GGUF files, correct ones and one for each kind of damage.

  python3 scripts/make_bad_gguf.py [FOLDER]      (default: fuzz/corpus/gguf)

Needs the standard library alone, so that every byte is in sight. Each file has a few hundred bytes.
"""
import pathlib
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMAT = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
TYPE_F32, TYPE_Q4_0, TYPE_Q8_0, TYPE_Q4_K, TYPE_IQ2_XXS = 0, 2, 8, 12, 16


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack("<" + FORMAT[kind], value)


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + scalar(kind, value)


def array(kind, values):
    return struct.pack("<IQ", kind, len(values)) + b"".join(scalar(kind, v) for v in values)


def key_array(name, payload):
    return text(name) + struct.pack("<I", ARRAY) + payload


def record(name, kind, dims, offset):
    return text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) + struct.pack(
        "<IQ", kind, offset)


def gguf(keys=(), records=(), data=b"", version=3, tensors=None, count=None, alignment=32, order="<"):
    head = b"GGUF" + struct.pack(order + "IQQ", version, len(records) if tensors is None else tensors,
                                 len(keys) if count is None else count)
    body = head + b"".join(keys) + b"".join(records)
    return body + bytes(-len(body) % alignment) + data if data else body


def model():
    """A llama of one layer that the configuration accepts, with keys of every type."""
    keys = [
        key("general.architecture", STRING, "llama"), key("general.alignment", U32, 32),
        key("llama.block_count", U32, 1), key("llama.context_length", U32, 64),
        key("llama.embedding_length", U32, 8), key("llama.feed_forward_length", U32, 8),
        key("llama.attention.head_count", U32, 1), key("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        key("x.u8", U8, 1), key("x.i8", I8, -1), key("x.u16", U16, 1), key("x.i16", I16, -1), key("x.i32", I32, -1),
        key("x.bool", BOOL, 1), key("x.u64", U64, 1), key("x.i64", I64, -1), key("x.f64", F64, 0.5),
        key_array("tokenizer.ggml.tokens", array(STRING, ["a", "b"])), key_array("x.floats", array(F32, [0.0, 1.0])),
        key_array("x.nested", struct.pack("<IQ", ARRAY, 2) + array(U8, [1, 2]) + array(STRING, ["c"])),
    ]
    return keys, [record("token_embd.weight", TYPE_F32, [8, 2], 0), record("q", TYPE_Q8_0, [32], 64)], bytes(98)


def one(kind, dims, offset=0, data=bytes(64)):
    return gguf(records=[record("w", kind, dims, offset)], data=data)


def raw_key(payload):
    return gguf(keys=[text("k") + payload])


def headers():
    keys, records, data = model()
    whole = gguf(keys, records, data)
    return {
        "good_v3": whole, "good_v2": gguf(keys, records, data, version=2), "good_empty": gguf(),
        "big_endian": gguf(order=">"), "big_endian_magic": b"FUGG" + gguf()[4:], "version_1": gguf(version=1),
        "version_4": gguf(version=4), "old_ggml": b"lmgg" + bytes(20), "old_ggjt": b"tjgg" + bytes(20),
        "truncated_header": whole[:13], "truncated_keys": whole[:200], "truncated_data": whole[:-80],
        "count_keys": gguf(keys, count=2**63), "count_tensors": gguf(tensors=2**64 - 1),
        "count_over": gguf(keys, count=len(keys) + 1),
    }


def metadata():
    deep = b"".join(struct.pack("<IQ", ARRAY, 1) for _ in range(40)) + array(U8, [1])
    return {
        "alignment_0": gguf([key("general.alignment", U32, 0)]), "alignment_7": gguf([key("general.alignment", U32, 7)]),
        "alignment_huge": gguf([key("general.alignment", U32, 2**31)]),
        "alignment_text": gguf([key("general.alignment", STRING, "32")]),
        "type_unknown": raw_key(struct.pack("<II", 13, 0)), "bool_2": raw_key(struct.pack("<IB", BOOL, 2)),
        "string_huge": raw_key(struct.pack("<IQ", STRING, 2**64 - 1)),
        "array_huge": raw_key(struct.pack("<IIQ", ARRAY, U64, 2**61 + 1)),
        "array_strings_huge": raw_key(struct.pack("<IIQ", ARRAY, STRING, 2**40)),
        "array_type_unknown": raw_key(struct.pack("<IIQ", ARRAY, 99, 1)),
        "array_deep": raw_key(struct.pack("<I", ARRAY) + deep),
        "key_twice": gguf([key("k", U32, 1), key("k", U32, 1)]), "key_empty": gguf([key("", U32, 1)]),
        "key_long": gguf([key("k" * 300, U32, 1)]), "split_missing": gguf([key("split.no", U16, 0),
                                                                           key("split.count", U16, 3)]),
        "split_no": gguf([key("split.no", U16, 5), key("split.count", U16, 3)]),
        "architecture": gguf([key("general.architecture", STRING, "phi3")]),
    }


def tensors():
    twice = [record("w", TYPE_F32, [4], 0), record("w", TYPE_F32, [4], 32)]
    overlap = [record("a", TYPE_F32, [16], 0), record("b", TYPE_F32, [4], 32)]
    return {
        "dims_wrap": one(TYPE_F32, [2**32, 2**32]), "dims_wrap_bytes": one(TYPE_F32, [2**62]),
        "dims_negative": one(TYPE_F32, [2**63]), "dims_0": one(TYPE_F32, [0]), "dims_5": one(TYPE_F32, [1] * 5),
        "dims_none": one(TYPE_F32, []), "type_iq2": one(TYPE_IQ2_XXS, [256]), "tensor_type_unknown": one(1000, [4]),
        "row_partial": one(TYPE_Q4_0, [48]), "row_partial_k": one(TYPE_Q4_K, [128]),
        "offset_odd": one(TYPE_F32, [4], 1), "offset_far": one(TYPE_F32, [4], 4096),
        "offset_wrap": one(TYPE_F32, [4], 2**64 - 32), "tensor_twice": gguf(records=twice, data=bytes(64)),
        "overlap": gguf(records=overlap, data=bytes(64)), "name_long": gguf(records=[record("n" * 65, 0, [1], 0)]),
        "name_control": gguf(records=[record(b"\n\x1b[2J\xff", 1000, [1], 0)]),
    }


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "fuzz/corpus/gguf"
    out.mkdir(parents=True, exist_ok=True)
    files = headers() | metadata() | tensors()
    for name, content in files.items():
        (out / name).write_bytes(content)
    print(f"{len(files)} files, {sum(map(len, files.values()))} bytes in {out}")


if __name__ == "__main__":
    main()
