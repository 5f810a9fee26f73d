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


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _key(name, kind, payload):
    return _string(name) + struct.pack("<I", kind) + payload


def _array(name, kind, items):
    return _key(name, ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items))


def _metadata(context, template):
    def u32(name, value):
        return _key(name, U32, struct.pack("<I", value))

    tokens = vocabulary()
    keys = [
        _key("general.architecture", STRING, _string("llama")),
        _key("general.name", STRING, _string("tiny")),
        u32("llama.block_count", LAYERS),
        u32("llama.embedding_length", DIM),
        u32("llama.feed_forward_length", FF),
        u32("llama.attention.head_count", HEADS),
        u32("llama.attention.head_count_kv", HEADS),
        u32("llama.rope.dimension_count", HEAD_DIM),
        u32("llama.context_length", context),
        _key("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        _key("tokenizer.ggml.model", STRING, _string("llama")),
        _array("tokenizer.ggml.tokens", STRING, [_string(t) for t, _, _ in tokens]),
        _array("tokenizer.ggml.scores", F32, [struct.pack("<f", s) for _, s, _ in tokens]),
        _array("tokenizer.ggml.token_type", I32, [struct.pack("<i", k) for _, _, k in tokens]),
        u32("tokenizer.ggml.bos_token_id", BOS),
        u32("tokenizer.ggml.eos_token_id", EOS),
        u32("tokenizer.ggml.unknown_token_id", 0),
        _key("tokenizer.ggml.add_bos_token", BOOL, b"\1"),
    ]
    if template is not None:
        keys.append(_key("tokenizer.chat_template", STRING, _string(template)))
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


def write(path, context=256, template=TEMPLATE, seed=1):
    """The weights are f32, drawn from N(0, 1/columns); the output layer is steep, so that argmax is clear."""
    rng = random.Random(seed)
    infos, data = [], bytearray()
    for name, (cols, rows) in _shapes().items():
        data += b"\0" * (-len(data) % 32)
        dims = [cols] if rows == 0 else [cols, rows]
        infos.append(_string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, len(data)))
        scale = (8 if name == "output.weight" else 1) / cols ** 0.5
        values = [1.0] * cols if rows == 0 else [rng.gauss(0, scale) for _ in range(cols * rows)]
        data += struct.pack(f"<{len(values)}f", *values)
    keys = _metadata(context, template)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys)) + b"".join(keys) + b"".join(infos)
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as file:
        file.write(head + data)
    return path
