#!/usr/bin/env python3
"""`toccata inspect`: what it shows of a model, as text and as JSON; the figures are computed here from the file."""

import json
import struct

import tiny_gguf
from cli import CliTest, main

BLOCK = 32  # tokens in a block of the KV cache
F16, F32 = 2, 4


def kv_bytes(context, element):
    tokens = -(-context // BLOCK) * BLOCK
    return tokens * tiny_gguf.LAYERS * tiny_gguf.HEADS * tiny_gguf.HEAD_DIM * 2 * element


class Inspect(CliTest):
    def shown(self, *arguments):
        done = self.call("inspect", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def json(self, *arguments):
        return json.loads(self.shown(*arguments, "--json"))

    def test_json_describes_the_model(self):
        report = self.json(self.model)
        self.assertEqual((report["gguf_version"], report["parts"], report["runnable"]), (3, 1, True))
        with open(self.model, "rb") as file:
            self.assertEqual(report["file_bytes"], len(file.read()))
        weights = tiny_gguf.tensors()
        size = sum(len(t.data) for t in weights)
        self.assertEqual(report["parameters"], size / F32)
        self.assertEqual(report["tensor_types"], [{"type": "F32", "tensors": len(weights), "bytes": size}])
        model = report["model"]
        for key, value in {"architecture": "llama", "name": "tiny", "layers": tiny_gguf.LAYERS,
                           "embedding_length": tiny_gguf.DIM, "feed_forward_length": tiny_gguf.FF,
                           "heads": tiny_gguf.HEADS, "kv_heads": tiny_gguf.HEADS, "head_size": tiny_gguf.HEAD_DIM,
                           "vocabulary": tiny_gguf.VOCAB, "context_length": 256,
                           "windows": [0] * tiny_gguf.LAYERS}.items():
            self.assertEqual(model[key], value, key)
        self.assertEqual(model["rope"], {"base": 10000.0, "linear_factor": 1.0, "dimensions": tiny_gguf.HEAD_DIM,
                                         "interleaved": True})
        self.assertNotIn("metadata", report)
        self.assertNotIn("tensors", report)

    def test_the_memory_plan(self):
        memory = self.json(self.model, "-c", "1,32,33,4096")["memory"]
        size = sum(len(t.data) for t in tiny_gguf.tensors())
        self.assertEqual(memory["weight_bytes"], size)
        self.assertEqual(memory["kv_bytes_per_token_f16"] * BLOCK, kv_bytes(1, F16))
        for row, context in zip(memory["contexts"], [1, 32, 33, 4096], strict=True):
            self.assertEqual(row, {"context": context, "kv_f16_bytes": kv_bytes(context, F16),
                                   "total_f16_bytes": size + kv_bytes(context, F16),
                                   "kv_f32_bytes": kv_bytes(context, F32),
                                   "total_f32_bytes": size + kv_bytes(context, F32)})
        self.assertEqual([r["context"] for r in self.json(self.model)["memory"]["contexts"]], [256])
        long = tiny_gguf.write(self.path("long.gguf"), context=10000)
        self.assertEqual([r["context"] for r in self.json(long)["memory"]["contexts"]], [2048, 8192, 10000])

    def test_json_lists_metadata_and_tensors(self):
        report = self.json(self.model, "--metadata", "--tensors")
        self.assertEqual(list(report["metadata"]), list(tiny_gguf.metadata()))
        self.assertEqual(report["metadata"]["tokenizer.chat_template"], tiny_gguf.TEMPLATE)
        self.assertEqual(report["metadata"]["llama.block_count"], tiny_gguf.LAYERS)
        self.assertIs(report["metadata"]["tokenizer.ggml.add_bos_token"], True)
        tokens = report["metadata"]["tokenizer.ggml.tokens"]
        self.assertEqual((tokens["element"], tokens["count"]), ("string", tiny_gguf.VOCAB))
        self.assertEqual(tokens["first"], [t for t, _, _ in tiny_gguf.vocabulary()[:16]])
        self.assertEqual(report["tensors"], [{"name": t.name, "type": "F32", "shape": t.dims, "bytes": len(t.data)}
                                             for t in tiny_gguf.tensors()])

    def test_text(self):
        text = self.shown(self.model, "-c", "33")
        for words in ["llama", "tiny", "289 tokens, output matrix of its own", "256 tokens", "llama, chat template", "full",
                      "base 10000, 32 of 32 dimensions, interleaved", "F32         21 tensors", "512 B in f16, 1.0 KiB in f32"]:
            self.assertIn(words, text)
        self.assertEqual(text.splitlines()[-1].split()[:3], ["33", "32.0", "KiB"])
        self.assertNotIn("Metadata", text)
        lists = self.shown("-m", self.model, "--metadata", "--tensors")
        for t in tiny_gguf.tensors():
            self.assertIn(f"  {t.name} ", lists)
        for key in tiny_gguf.metadata():
            self.assertIn(f"  {key} (", lists)
        self.assertIn("... (289 in all)", lists)

    def test_text_from_the_file_cannot_reach_the_terminal(self):
        hostile = b"x\n\x1b[31m\x00\xff"
        keys = tiny_gguf.metadata() | {"general.name": (tiny_gguf.STRING, tiny_gguf.string(hostile)),
                                       hostile: (tiny_gguf.STRING, tiny_gguf.string(hostile))}
        weights = [*tiny_gguf.tensors(), tiny_gguf.Tensor(hostile, [4], bytes(16))]
        path = self.path("hostile.gguf", tiny_gguf.encode(keys, weights))
        for options in ([], ["--json"]):
            text = self.shown(path, "--metadata", "--tensors", *options)
            self.assertEqual([c for c in text if ord(c) < 0x20 and c != "\n"], [])
            self.assertNotIn("x\n\x1b", text)

    def test_numbers_of_every_size(self):
        keys = tiny_gguf.metadata() | {"x.big": (10, struct.pack("<Q", 2**64 - 1)), "x.low": (11, struct.pack("<q", -2**63)),
                                       "x.nan": (12, struct.pack("<d", float("nan"))),
                                       "x.inf": (6, struct.pack("<f", float("-inf")))}
        path = self.path("numbers.gguf", tiny_gguf.encode(keys, tiny_gguf.tensors()))
        metadata = self.json(path, "--metadata")["metadata"]
        self.assertEqual((metadata["x.big"], metadata["x.low"]), (2**64 - 1, -2**63))
        self.assertFalse(isinstance(metadata["x.nan"], float) or isinstance(metadata["x.inf"], float))
        self.assertIn("x.big (uint64) = 18446744073709551615", self.shown(path, "--metadata"))

    def test_usage(self):
        self.refused(2, "one model", "inspect")
        self.refused(2, "one model", "inspect", self.model, self.model)
        self.refused(2, "-c", "inspect", self.model, "-c", "0")
        self.refused(1, "nothing.gguf", "inspect", self.path("nothing.gguf"))
        with open("/dev/full", "wb") as full:
            done = self.call("inspect", self.model, stdout=full)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    main()
