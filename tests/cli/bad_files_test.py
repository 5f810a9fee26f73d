#!/usr/bin/env python3
"""Damaged and hostile model files: refused with one line that names the file and the fault, exit code 1, little memory."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import make_bad_gguf  # noqa: E402
import tiny_gguf  # noqa: E402
from cli import LIMITED, CliTest, main  # noqa: E402

Q4_0 = 2
NUMBER_KEYS = [key for key, (kind, _) in tiny_gguf.metadata().items() if kind == tiny_gguf.U32]
# Without these a model still works.
OPTIONAL_KEYS = {"general.name", "llama.attention.head_count_kv", "llama.rope.dimension_count",
                 "tokenizer.ggml.token_type", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                 "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.add_bos_token", "tokenizer.chat_template"}

# What the refusal of each file of scripts/make_bad_gguf.py says.
HOSTILE = {
    "big_endian": "big-endian", "big_endian_magic": "big-endian", "version_1": "version 1", "version_4": "version 4",
    "old_ggml": "GGML", "old_ggjt": "GGJT", "truncated_header": "inside the header",
    "truncated_keys": "claims 20 metadata keys", "truncated_data": "tensor 'token_embd.weight'",
    "count_keys": "claims 9223372036854775808 metadata keys", "count_tensors": "claims 18446744073709551615 tensors",
    "count_over": "metadata key 21",
    "alignment_0": "key 'general.alignment'", "alignment_7": "key 'general.alignment'",
    "alignment_huge": "key 'general.alignment'", "alignment_text": "key 'general.alignment'",
    "type_unknown": "key 'k'", "bool_2": "key 'k'", "string_huge": "key 'k'", "array_huge": "key 'k'",
    "array_strings_huge": "key 'k'", "array_type_unknown": "key 'k'", "array_deep": "key 'k'", "key_twice": "key 'k'",
    "key_empty": "metadata key 1", "split_missing": "part 1 of 3", "split_no": "key 'split.no'",
    "dims_wrap": "tensor 'w'", "dims_wrap_bytes": "tensor 'w'", "dims_negative": "tensor 'w'", "dims_0": "tensor 'w'",
    "dims_5": "tensor 'w'", "dims_none": "tensor 'w'", "type_iq2": "IQ2_XXS", "tensor_type_unknown": "tensor 'w'",
    "row_partial": "tensor 'w'", "row_partial_k": "tensor 'w'", "offset_odd": "tensor 'w'", "offset_far": "tensor 'w'",
    "offset_wrap": "tensor 'w'", "tensor_twice": "tensor 'w'", "overlap": "tensor 'b'", "name_long": "tensor 1 ",
    "name_control": "tensor '\\x0a\\x1b[2J\\xff'",
}
# Well-formed files that are no model: (what `inspect` says, or None where it shows one; what `run` says).
NO_MODEL = {
    "good_v2": (None, "tokenizer.ggml.model"), "good_v3": (None, "tokenizer.ggml.model"),
    "good_empty": ("general.architecture", "general.architecture"),
    "key_long": ("general.architecture", "general.architecture"), "architecture": ("'phi3'", "'phi3'"),
}


class BadFiles(CliTest):
    def run_refuses(self, words, path, *options):
        name = os.path.basename(path)
        self.refused(1, [name, words], "run", "-m", path, "-p", "x", "-n", "1", "-t", "2", *options, **LIMITED)

    def tiny(self, keys=None, weights=None):
        content = tiny_gguf.encode(self.keys if keys is None else keys, self.weights if weights is None else weights)
        return self.path("damaged.gguf", content)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys, cls.weights = tiny_gguf.metadata(), tiny_gguf.tensors()

    def test_hostile_files(self):
        files = make_bad_gguf.headers() | make_bad_gguf.metadata() | make_bad_gguf.tensors()
        self.assertEqual(set(files), set(HOSTILE) | set(NO_MODEL))
        for name, words in HOSTILE.items():
            with self.subTest(name):
                path = self.path(name + ".gguf", files[name])
                self.run_refuses(words, path)
                for options in ([], ["--json"], ["--metadata", "--tensors"]):
                    self.refused(1, [name, words], "inspect", path, *options, **LIMITED)

    def test_files_that_are_no_model_are_shown_and_not_run(self):
        files = make_bad_gguf.headers() | make_bad_gguf.metadata()
        for name, (inspect_says, run_says) in NO_MODEL.items():
            with self.subTest(name):
                path = self.path(name + ".gguf", files[name])
                self.run_refuses(run_says, path)
                done = self.call("inspect", path, "--metadata", "--tensors", **LIMITED)
                self.assertIn(b"GGUF v", done.stdout)
                self.assertEqual(done.returncode, 0 if inspect_says is None else 1)
                self.assertEqual(done.stderr.count(b"\n"), 0 if inspect_says is None else 1)
                self.assertIn((inspect_says or "").encode(), done.stderr)

    def test_a_file_that_ends_anywhere(self):
        content = tiny_gguf.encode(self.keys, self.weights)
        head = len(content) - sum(len(t.data) for t in self.weights)
        ends = [*range(0, 24, 5), *range(24, head, head // 20), *range(head, len(content), len(content) // 7), len(content) - 1]
        for end in ends:
            with self.subTest(end=end):
                self.run_refuses("", self.path("cut.gguf", content[:end]))

    def test_each_tensor_must_be_there_in_its_shape(self):
        for i, tensor in enumerate(self.weights):
            others = self.weights[:i] + self.weights[i + 1:]
            wrong = {
                "turned": tensor.dims[::-1] if len(set(tensor.dims)) > 1 else [tensor.dims[0] // 2, 2 * tensor.dims[-1]],
                "short": [*tensor.dims[:-1], tensor.dims[-1] - 1],
                "flat": [*tensor.dims, 1],
            }
            for name, dims in wrong.items():
                with self.subTest(tensor=tensor.name, dims=name):
                    changed = tiny_gguf.Tensor(tensor.name, dims, tensor.data)
                    # The height of the embedding says how long the vocabulary is, so that other tensors differ from it.
                    named = tensor.name if tensor.name != "token_embd.weight" else ""
                    self.run_refuses(named, self.tiny(weights=[*others, changed]))
            if tensor.name != "output.weight":  # then it is the embedding's
                with self.subTest(tensor=tensor.name, missing=True):
                    self.run_refuses(tensor.name, self.tiny(weights=others))

    def test_a_tensor_that_no_architecture_knows(self):
        extra = tiny_gguf.Tensor(b"a\n\x1b[31mb", [4], bytes(16))
        self.run_refuses("tensor 'a\\x0a\\x1b[31mb'", self.tiny(weights=[*self.weights, extra]))

    def test_rows_that_a_format_cannot_hold(self):
        down = [t for t in self.weights if t.name == "blk.1.ffn_down.weight"][0]
        others = [t for t in self.weights if t is not down]
        odd = tiny_gguf.Tensor(down.name, [tiny_gguf.FF - 1, tiny_gguf.DIM], down.data, Q4_0)
        self.run_refuses(down.name, self.tiny(weights=[*others, odd]))

    def test_each_key_must_be_of_its_type(self):
        for key, (kind, _) in self.keys.items():
            with self.subTest(key=key):
                other = (tiny_gguf.STRING, tiny_gguf.string("x")) if kind != tiny_gguf.STRING else (tiny_gguf.U32, bytes(4))
                self.run_refuses(key, self.tiny({**self.keys, key: other}))
            if key not in OPTIONAL_KEYS:
                with self.subTest(key=key, missing=True):
                    self.run_refuses(key, self.tiny({k: v for k, v in self.keys.items() if k != key}))

    def test_numbers_that_nothing_can_hold(self):
        for key in NUMBER_KEYS:
            for value in (2**32 - 1, 2**31):
                with self.subTest(key=key, value=value):
                    self.run_refuses(key, self.tiny({**self.keys, key: (tiny_gguf.U32, struct.pack("<I", value))}))

    def test_numbers_that_need_more_than_the_file_has(self):
        for key, value, says in [("block_count", 1000, "tensor 'blk.2."), ("feed_forward_length", 999999, "tensor 'blk.0.ffn_"),
                                 ("embedding_length", 999998, "head_count"), ("rope.dimension_count", 512, "dimension_count")]:
            with self.subTest(key=key):
                self.run_refuses(says, self.tiny({**self.keys, "llama." + key: (tiny_gguf.U32, struct.pack("<I", value))}))


if __name__ == "__main__":
    main()
