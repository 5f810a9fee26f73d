#!/usr/bin/env python3
"""KV policies per request: streams without end, several policies in one batch, refusals, and what is reported."""

import threading

from serving import A, ServerTest, main

PROMPT = [A + i * 7 % 26 for i in range(100)]
STREAMING = {"kv_policy": "streaming", "kv_budget": 64}


def fields(**more):
    return {"prompt": PROMPT, "temperature": 0, "ignore_eos": True, **more}


class PerRequest(ServerTest):
    def test_a_stream_passes_the_context_and_full_ends_there(self):
        answer = self.server.complete(**fields(max_tokens=600, **STREAMING))
        self.assertEqual(answer["usage"]["completion_tokens"], 600)
        kept = answer["usage"]["kv_cache"]
        self.assertEqual((kept["tokens"], kept["evicted_tokens"]), (64, 100 + 600 - 1 - 64))
        self.assertGreater(kept["bytes"], 0)
        longer = self.server.complete(**fields(max_tokens=1200, **STREAMING))["usage"]["kv_cache"]
        self.assertEqual(longer["bytes"], kept["bytes"])
        full = self.server.complete(**fields(max_tokens=600))
        self.assertEqual((full["choices"][0]["finish_reason"], full["usage"]["completion_tokens"]), ("length", 156))
        self.assertNotIn("kv_cache", full["usage"])
        self.assertTrue(self.server.settle())
        self.assertGreater(self.server.gauge("kv_evicted_tokens_total"), 1000)
        self.assertEqual(self.server.gauge("kv_bytes_used"), 0)

    def test_a_long_prompt_streams_and_is_refused_without_a_policy(self):
        prompt = PROMPT * 5
        self.assertEqual(self.server.complete(**fields(max_tokens=5, **STREAMING) | {"prompt": prompt})["usage"]["prompt_tokens"],
                         500)
        for policy in ({}, {"kv_policy": "full"}):
            answer = self.server.post("/v1/completions", fields(max_tokens=5, **policy) | {"prompt": prompt})
            self.refused(400, None, answer)
            self.assertEqual(answer[2]["error"]["code"], "context_length_exceeded")

    def test_neighbours_under_other_policies_change_nothing(self):
        cases = [{}, STREAMING, {**STREAMING, "kv_sinks": 0}, {**STREAMING, "kv_evict_interval": 1},
                 {"kv_policy": "streaming", "kv_budget": 20}, {"kv_policy": "h2o", "kv_budget": 40},
                 {"kv_policy": "snapkv", "kv_budget": 40, "kv_heavy_ratio": 0.7}]
        bodies = [fields(max_tokens=100, **case) for case in cases]
        alone = [self.server.complete(**b)["choices"][0]["text"] for b in bodies]
        self.assertEqual(alone[1], alone[3])  # the interval says only when slots are used again
        together = [None] * len(bodies)

        def run(i):
            together[i] = self.server.complete(**bodies[i])["choices"][0]["text"]

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(bodies))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(together, alone)

    def test_bad_combinations_are_refused_in_one_sentence(self):
        for more, words in [({"kv_policy": "best"}, "streaming"), ({"kv_policy": "streaming"}, "budget"),
                            ({"kv_policy": "h2o"}, "budget"), ({"kv_policy": "h2o", "kv_budget": 1 << 20}, "32768"),
                            ({"kv_budget": 64}, "kv_policy"), ({"kv_policy": "full", "kv_sinks": 4}, "kv_policy"),
                            ({"kv_policy": "streaming", "kv_budget": 4}, "sinks"),
                            ({**STREAMING, "kv_recent": 9}, "64"), ({**STREAMING, "kv_budget": 1 << 29}, "blocks"),
                            ({**STREAMING, "kv_budget": "64"}, "kv_budget"), ({**STREAMING, "kv_budget": -1}, "kv_budget")]:
            for stream in (False, True):
                with self.subTest(more=more, stream=stream):
                    answer = self.server.post("/v1/completions", fields(max_tokens=5, stream=stream, **more))
                    self.refused(400, None, answer)
                    self.assertIn(words, answer[2]["error"]["message"])
                    self.assertNotIn("\n", answer[2]["error"]["message"])


class ServerDefault(ServerTest):
    arguments = ("--kv-policy", "streaming", "--kv-budget", "64")

    def test_the_servers_policy_and_a_request_that_wants_none(self):
        answer = self.server.complete(**fields(max_tokens=400))
        self.assertEqual((answer["usage"]["completion_tokens"], answer["usage"]["kv_cache"]["tokens"]), (400, 64))
        full = self.server.complete(**fields(max_tokens=400, kv_policy="full"))
        self.assertEqual(full["choices"][0]["finish_reason"], "length")
        self.assertEqual(full["usage"]["completion_tokens"], 156)
        smaller = self.server.complete(**fields(max_tokens=400, kv_budget=32))
        self.assertEqual(smaller["usage"]["kv_cache"]["tokens"], 32)


if __name__ == "__main__":
    main()
