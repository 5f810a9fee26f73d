"""Writes a tiny llama model with random weights and a byte vocabulary as GGUF. Standard library only."""

import random
import struct

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6

LAYERS, DIM, FF, HEADS, HEAD_DIM = 2, 64, 96, 2, 32
TEMPLATE = ("{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")
SPECIAL = ["<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
BOS, EOS = 1, 2


def vocabulary():
    """(text, score, type) of each token: the special ones, 256 bytes, the lower-case letters and the space mark."""
    tokens = [(SPECIAL[0], 0.0, UNKNOWN)] + [(s, 0.0, CONTROL) for s in SPECIAL[1:]]
    tokens += [(f"<0x{b:02X}>", 0.0, BYTE) for b in range(256)]
    tokens += [(chr(c), -float(i), NORMAL) for i, c in enumerate([*range(ord("a"), ord("z") + 1), 0x2581])]
    return tokens


VOCAB = len(vocabulary())
BYTE_BASE = len(SPECIAL)
LETTER_BASE = BYTE_BASE + 256


class Tensor:
    def __init__(self, name, dims, data, kind=0):
        self.name, self.dims, self.data, self.kind = name, list(dims), data, kind


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def _array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def metadata(context=256, template=TEMPLATE):
    """{key: (type, bytes of the value)}"""
    tokens = vocabulary()
    numbers = {"block_count": LAYERS, "embedding_length": DIM, "feed_forward_length": FF, "attention.head_count": HEADS,
               "attention.head_count_kv": HEADS, "rope.dimension_count": HEAD_DIM, "context_length": context}
    keys = {"general.architecture": (STRING, string("llama")), "general.name": (STRING, string("tiny"))}
    keys |= {"llama." + name: (U32, struct.pack("<I", value)) for name, value in numbers.items()}
    keys |= {
        "llama.attention.layer_norm_rms_epsilon": (F32, struct.pack("<f", 1e-5)),
        "tokenizer.ggml.model": (STRING, string("llama")),
        "tokenizer.ggml.tokens": (ARRAY, _array(STRING, [string(t) for t, _, _ in tokens])),
        "tokenizer.ggml.scores": (ARRAY, _array(F32, [struct.pack("<f", s) for _, s, _ in tokens])),
        "tokenizer.ggml.token_type": (ARRAY, _array(I32, [struct.pack("<i", k) for _, _, k in tokens])),
        "tokenizer.ggml.bos_token_id": (U32, struct.pack("<I", BOS)),
        "tokenizer.ggml.eos_token_id": (U32, struct.pack("<I", EOS)),
        "tokenizer.ggml.unknown_token_id": (U32, struct.pack("<I", 0)),
        "tokenizer.ggml.add_bos_token": (BOOL, b"\1"),
    }
    if template is not None:
        keys["tokenizer.chat_template"] = (STRING, string(template))
    return keys


def _shapes():
    """name: (columns, rows); rows 0 makes a vector."""
    shapes = {"token_embd.weight": (DIM, VOCAB)}
    for layer in range(LAYERS):
        p = f"blk.{layer}."
        shapes |= {p + "attn_norm.weight": (DIM, 0), p + "ffn_norm.weight": (DIM, 0)}
        shapes |= {p + f"attn_{x}.weight": (DIM, DIM) for x in ("q", "k", "v", "output")}
        shapes |= {p + "ffn_gate.weight": (DIM, FF), p + "ffn_up.weight": (DIM, FF), p + "ffn_down.weight": (FF, DIM)}
    shapes |= {"output_norm.weight": (DIM, 0), "output.weight": (DIM, VOCAB)}
    return shapes


def tensors(seed=1):
    """The weights are f32, drawn from N(0, 1/columns); the output layer is steep, so that argmax is clear."""
    rng = random.Random(seed)
    found = []
    for name, (cols, rows) in _shapes().items():
        scale = (8 if name == "output.weight" else 1) / cols ** 0.5
        values = [1.0] * cols if rows == 0 else [rng.gauss(0, scale) for _ in range(cols * rows)]
        found.append(Tensor(name, [cols] if rows == 0 else [cols, rows], struct.pack(f"<{len(values)}f", *values)))
    return found


def encode(keys, weights):
    """The bytes of a GGUF file with these keys and tensors, sensible or not."""
    infos, data = [], bytearray()
    for t in weights:
        data += b"\0" * (-len(data) % 32)
        infos.append(string(t.name) + struct.pack(f"<I{len(t.dims)}QIQ", len(t.dims), *t.dims, t.kind, len(data)))
        data += t.data
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys))
    head += b"".join(string(name) + struct.pack("<I", kind) + value for name, (kind, value) in keys.items())
    head += b"".join(infos)
    return head + b"\0" * (-len(head) % 32) + data


def write(path, context=256, template=TEMPLATE, seed=1):
    with open(path, "wb") as file:
        file.write(encode(metadata(context, template), tensors(seed)))
    return path
