#!/usr/bin/env python3
"""`toccata plan`: the figures of a tiny model, worked out here by hand."""

import json

import tiny_gguf
from cli import CliTest, main

RATES = ["--read-rate", "10", "--int8-rate", "100", "--f32-rate", "50"]
# Two layers with two KV heads of 32 channels; a scale of two bytes for each 32.
BYTES = {"f32": 2 * 2 * 2 * 32 * 4, "f16": 2 * 2 * 2 * 32 * 2, "bf16": 2 * 2 * 2 * 32 * 2, "q8_0": 2 * 2 * 2 * (32 + 2),
         "q4_0": 2 * 2 * 2 * (16 + 2)}


class Plan(CliTest):
    def plan(self, *arguments):
        done = self.call("plan", "-m", self.model, *RATES, *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def test_what_fits(self):
        plan = self.plan("--kv-memory", "1M", "-c", "100")
        self.assertEqual(plan["kv_memory_bytes"], 1 << 20)
        self.assertEqual([t["type_k"] for t in plan["types"]], list(BYTES))
        for row in plan["types"]:
            size = BYTES[row["type_k"]]
            self.assertEqual(row["kv_bytes_per_token"], size)
            blocks = (1 << 20) // (32 * size)
            self.assertEqual((row["blocks"], row["tokens"]), (blocks, 32 * blocks))
            self.assertEqual(row["max_sequences"], blocks // 4)  # 100 tokens are four blocks
        by_type = {t["type_k"]: t["tokens"] for t in plan["types"]}
        self.assertEqual(by_type, {"f32": 1024, "f16": 2048, "bf16": 2048, "q8_0": 3840, "q4_0": 7264})

    def test_speed_limits(self):
        context, n = 200, tiny_gguf
        matrices = [t for t in n.tensors() if len(t.dims) > 1 and t.name != "token_embd.weight"]
        weights = sum(len(t.data) for t in matrices)
        parameters = weights // 4  # all f32
        plan = self.plan("-c", str(context), "--kv-memory", "1M")
        self.assertEqual(plan["weight_bytes_per_step"], weights)
        for row in plan["types"]:
            read = context * BYTES[row["type_k"]]
            self.assertAlmostEqual(row["read_bytes_per_token"], read)
            operations = 2 * parameters + 4 * n.HEADS * n.HEAD_DIM * n.LAYERS * context
            step = max((weights + read) / 10e9, operations / 50e9)
            self.assertAlmostEqual(row["decode_limit_ts"] * step, 1, places=6)
            batch = row["max_sequences"]
            step = max((weights + batch * read) / 10e9, batch * operations / 50e9)
            self.assertAlmostEqual(row["batch_decode_limit_ts"] * step, batch, places=4)
        body = parameters - n.VOCAB * n.DIM
        pairs = n.LAYERS * context * (context + 1) / 2
        compute = (2 * (body * context + n.VOCAB * n.DIM) + 4 * n.HEADS * n.HEAD_DIM * pairs) / 50e9
        memory = (weights + BYTES["f16"] / n.LAYERS * pairs / context) / 10e9
        self.assertAlmostEqual(plan["prefill_limit_ts"] * max(compute, memory) / context, 1, places=6)

    def test_a_mixed_pair_is_a_row_of_its_own(self):
        rows = self.plan("-ctk", "q8_0", "-ctv", "q4_0")["types"]
        self.assertEqual((rows[-1]["type_k"], rows[-1]["type_v"]), ("q8_0", "q4_0"))
        self.assertEqual(rows[-1]["kv_bytes_per_token"], (BYTES["q8_0"] + BYTES["q4_0"]) // 2)

    def test_layers_that_keep_f16(self):
        rows = self.plan("--kv-skip-layers", "1,1", "-c", "64")["types"]
        for row in rows:
            size = (BYTES[row["type_k"]] + BYTES["f16"]) // 2
            self.assertEqual((row["kv_bytes_per_token"], row["read_bytes_per_token"]), (size, 64 * size))
        self.refused(1, "layer 2", "plan", "-m", self.model, "--kv-skip-layers", "0,2")
        self.refused(1, "layer 2", "run", "-m", self.model, "-p", "x", "--kv-skip-layers", "2")

    def test_text_and_measured_limits(self):
        done = self.call("plan", "-m", self.model, "--kv-memory", "1M")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        for words in ["KV cache of 1.0 MiB", "sequences of 256 tokens", "q4_0", "tokens/s"]:
            self.assertIn(words, text)

    def test_faults(self):
        self.refused(2, "no model", "plan")
        self.refused(2, ["--kv-memory", "'lots'"], "plan", "-m", self.model, "--kv-memory", "lots")
        self.refused(1, "missing.gguf", "plan", "-m", "missing.gguf")


if __name__ == "__main__":
    main()
