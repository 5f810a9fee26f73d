#!/usr/bin/env python3
"""`toccata run`: prompts, determinism, ends of answers, and output that goes wrong."""

import json
import os
import signal
import subprocess
import time

import tiny_gguf
from cli import SECONDS, TOCCATA, CliTest, main

ENDLESS = ["--ignore-eos"]


class Prompts(CliTest):
    def test_the_prompt_comes_from_option_file_or_stdin(self):
        common = ["--raw", "-n", "8", "--temp", "0"]
        expected = self.answer("-p", "abc", *common)
        self.assertTrue(expected)
        self.assertEqual(self.answer("-f", self.path("p.txt", "abc"), *common), expected)
        self.assertEqual(self.answer("-f", self.path("p.txt", "abc\n"), *common), expected)
        self.assertEqual(self.answer("-f", self.path("p.txt", "abc\r\n"), *common), expected)
        self.assertEqual(self.answer("-f", "-", *common, stdin=b"abc\n"), expected)
        self.assertEqual(self.answer(*common, stdin=b"abc\n"), expected)
        self.assertNotEqual(self.answer("-f", self.path("p.txt", "abc\n\n"), *common), expected)
        self.assertEqual(self.answer("-p", "abc", *common, stdin=b"ignored"), expected)
        self.assertEqual(self.answer("--prompt=abc", *common), expected)

    def test_a_draft_model_changes_nothing(self):
        common = ["-p", "abc", "-n", "40", "--temp", "1", "--seed", "5", *ENDLESS]
        plain = self.answer(*common)
        other = tiny_gguf.write(self.path("other.gguf"), seed=2)
        for draft in (self.model, other):
            for tokens in ("auto", "3"):
                done = self.run_tiny(*common, "-md", draft, "--spec-num-tokens", tokens)
                self.assertEqual((done.returncode, done.stdout), (0, plain), done.stderr)
                if draft == self.model and tokens == "3":
                    self.assertIn(b"(100.0 %)", done.stderr)
        done = self.run_tiny(*common, "--draft-model", self.model, "--spec-method", "off")
        self.assertEqual(done.stdout, plain)
        self.assertNotIn(b"drafts ", done.stderr)

    def test_a_draft_model_of_other_tokens_is_refused(self):
        with open(self.model, "rb") as file:
            other = self.path("other.gguf", file.read().replace(b"<|user|>", b"<|uzer|>", 1))
        self.refused(1, ["other.gguf", "tiny.gguf", "token 4", "<|uzer|>", "<|user|>"], "run", "-m", self.model, "-p", "a",
                     "--draft-model", other)
        self.refused(1, "missing.gguf", "run", "-m", self.model, "-p", "a", "-md", "missing.gguf")
        self.refused(2, ["--spec-method", "--draft-model"], "run", "-m", self.model, "-p", "a", "--spec-method", "model")
        self.refused(2, ["--spec-method", "--draft-model"], "serve", "-m", self.model, "--spec-method", "model")

    def test_any_bytes_are_a_prompt(self):
        for prompt in [b"-x", b"--raw", b"--", b"[a,b]", b"\xff\xfe\x80", "\u00fc\U0001f600".encode(), b"a b=c", b" "]:
            for raw in ([], ["--raw"]):
                with self.subTest(prompt=prompt, raw=raw):
                    self.answer("-p", prompt, "-n", "2", *raw)
        self.answer("-n", "2", "--raw", stdin=b"a\0b\0")

    def test_the_summary_of_no_answer_claims_no_first_token(self):
        self.assertNotIn(b"first token", self.run_tiny("-p", "abc", "-n", "0").stderr)
        self.assertIn(b"first token", self.run_tiny("-p", "abc", "-n", "1").stderr)

    def test_empty_prompts(self):
        self.answer("-p", "", "-n", "2")
        self.answer("-n", "2", stdin=b"")
        self.answer("-p", "", "-n", "2", "--raw")  # BOS alone

    def test_the_chat_template_is_applied(self):
        ids = lambda *a: [l for l in self.run_tiny(*a, "-n", "1", "-v").stderr.splitlines() if l.startswith(b"prompt  ")][0]
        first = self.run_tiny("-p", "a", "-n", "1", "-v", "--system", "b").stderr.decode().splitlines()[1].split()
        letter = tiny_gguf.LETTER_BASE
        self.assertEqual(first[:3], ["prompt", str(tiny_gguf.BOS), "3"])  # <s><|system|>
        self.assertIn("4", first)  # <|user|>
        self.assertEqual(first[-1], "5")  # <|assistant|>
        self.assertIn(str(letter), first)
        self.assertTrue(ids("-p", "a"))

    def test_a_model_without_template_says_so(self):
        bare = tiny_gguf.write(self.path("bare.gguf"), template=None)
        done = self.call("run", "-m", bare, "-p", "abc", "-n", "4", "--temp", "0")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"no chat template", done.stderr)
        self.assertEqual(done.stdout, self.answer("-p", "abc", "-n", "4", "--temp", "0", "--raw"))
        broken = tiny_gguf.write(self.path("broken.gguf"), template="{% if %}")
        self.refused(1, "chat template", "run", "-m", broken, "-p", "abc")

    def test_prompts_that_do_not_fit(self):
        self.refused(1, ["n_prompt = 31", "n_ctx = 16"], "run", "-m", self.model, "-p", "a" * 29, "--raw", "-c", "16")
        self.refused(1, "p.nil", "run", "-m", self.model, "-f", self.path("p.nil"))
        self.refused(1, os.path.basename(self.folder), "run", "-m", self.model, "-f", self.folder)

    def test_huge_contexts_work_or_are_refused(self):
        done = self.run_tiny("-p", "a", "-c", str(1 << 30), "-n", "1")
        self.assertIn(done.returncode, (0, 1))


class Speculation(CliTest):
    def test_the_answer_is_the_same(self):
        for sampling in (["--temp", "0"], ["--temp", "1", "--seed", "5", "--repeat-penalty", "1.1"]):
            common = ["-p", "abcabcabcabcabc", "--raw", "-n", "60", *ENDLESS, *sampling]
            expected = self.answer(*common)
            for method, number in (("ngram", "7"), ("suffix", "7"), ("auto", "auto"), ("auto", "3")):
                with self.subTest(method=method, number=number, sampling=sampling):
                    drafting = ["--spec-method", method, "--spec-num-tokens", number]
                    self.assertEqual(self.answer(*common, *drafting), expected)

    def test_the_summary_tells_what_became_of_the_drafts(self):
        repeat = ["-p", "abab" * 8, "--raw", "-n", "20", *ENDLESS]
        self.assertIn(b"drafted tokens accepted", self.run_tiny(*repeat, "--spec-method", "ngram", "--spec-num-tokens", "4").stderr)
        self.assertNotIn(b"drafted", self.run_tiny(*repeat).stderr)

    def test_faults(self):
        for number in ("33", "-1", "x", ""):
            self.refused(2, "--spec-num-tokens", "run", "-m", self.model, "-p", "a", "--spec-num-tokens", number)
        self.refused(2, "--spec-method", "run", "-m", self.model, "-p", "a", "--spec-method", "oracle")


class Sampling(CliTest):
    HOT = ["-p", "abc", "-n", "40", "--temp", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", *ENDLESS]

    def test_the_seed_decides(self):
        first = self.answer(*self.HOT, "--seed", "7")
        self.assertEqual(self.answer(*self.HOT, "--seed", "7"), first)
        self.assertEqual(self.answer(*self.HOT, "-s", "7", "-t", "1", "--chunk-size", "1", "--no-stream"), first)
        self.assertNotEqual(self.answer(*self.HOT, "--seed", "8"), first)

    def test_a_random_seed_is_shown_and_repeats_the_answer(self):
        done, again = self.run_tiny(*self.HOT), self.run_tiny(*self.HOT)
        seed = done.stderr.decode().split("seed ")[-1].strip()
        self.assertNotEqual(done.stdout, again.stdout)
        self.assertEqual(self.answer(*self.HOT, "--seed", seed), done.stdout)

    def test_greedy_ignores_the_seed(self):
        greedy = ["-p", "abc", "-n", "40", "--temp", "0", *ENDLESS]
        first = self.answer(*greedy, "--seed", "1")
        for change in (["--seed", "2"], ["-t", "1"], ["-t", "3"], ["--chunk-size", "2"], ["-s", "3", "--top-k", "1"]):
            self.assertEqual(self.answer(*greedy, *change), first)

    def test_bias_forces_and_bans(self):
        a = tiny_gguf.LETTER_BASE
        common = ["-p", "abc", "-n", "5", "--raw", "--temp", "0"]
        self.assertEqual(self.answer(*common, "-l", f"{a}+1000"), b"aaaaa")
        self.assertEqual(self.answer(*common, "-l", f"{a}=1000", "-l", f"{a + 1}+2000"), b"bbbbb")
        self.assertNotIn(b"a", self.answer(*common, "-l", f"{a}+1000", "-l", f"{a}-inf"))
        banned = [x for t in range(tiny_gguf.VOCAB) for x in ("-l", f"{t}-inf")]
        self.answer(*common, *banned)

    def test_frequency_penalty_stops_repetition(self):
        a = tiny_gguf.LETTER_BASE
        common = ["-p", "x", "-n", "40", "--raw", "--temp", "0", "-l", f"{a}+90"]
        self.assertEqual(self.answer(*common), b"a" * 40)
        self.assertNotEqual(self.answer(*common, "--frequency-penalty", "20"), b"a" * 40)
        self.assertEqual(self.answer(*common, "--frequency-penalty", "20", "--repeat-last-n", "0"), b"a" * 40)

    def test_logprobs_are_json_lines(self):
        done = self.run_tiny("-p", "abc", "-n", "5", "--logprobs", "3", "--temp", "0", "-q", *ENDLESS)
        lines = [json.loads(line) for line in done.stderr.decode().splitlines()]
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.assertEqual(len(line["top"]), 3)
            self.assertEqual(line["token"], line["top"][0]["token"])
            self.assertAlmostEqual(line["logprob"], line["top"][0]["logprob"])
            self.assertLess(line["top"][2]["logprob"], 0.0)


class Ends(CliTest):
    def test_n_predict(self):
        self.assertEqual(self.answer("-p", "abc", "-n", "0"), b"")
        done = self.run_tiny("-p", "abc", "-n", "3", *ENDLESS)
        self.assertIn(b" 3 tokens", done.stderr)
        self.assertIn(b"end     length", done.stderr)

    def test_the_end_token_ends_and_is_not_shown(self):
        done = self.run_tiny("-p", "abc", "-l", f"{tiny_gguf.EOS}+1000")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"end     stop", done.stderr)
        a = tiny_gguf.LETTER_BASE
        kept = self.run_tiny("-p", "abc", "-n", "4", "-l", f"{tiny_gguf.EOS}+1000", "-l", f"{a}+999", *ENDLESS)
        self.assertEqual(kept.stdout, b"aaaa")

    def test_stop_strings(self):
        common = ["-p", "abc", "-n", "30", "--temp", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", "-s", "5", "--raw"]
        letters = [x for t in range(tiny_gguf.LETTER_BASE, tiny_gguf.VOCAB - 1) for x in ("-l", f"{t}+60")]
        text = self.answer(*common, *letters)
        self.assertEqual(len(text), 30)
        stop = text[10:13]
        self.assertEqual(self.answer(*common, *letters, "--stop", stop), text[: text.index(stop)])
        self.assertEqual(self.answer(*common, *letters, "--stop", "QQQ", "--stop", stop), text[: text.index(stop)])
        self.assertEqual(self.answer(*common, *letters, "--stop", stop, "--no-stream"), text[: text.index(stop)])
        self.assertEqual(self.answer(*common, *letters, "--stop", text[-1:].decode() + "Q"), text)

    def test_a_streaming_cache_has_no_end(self):
        streaming = ["--raw", "--temp", "0", "--kv-policy", "streaming", "--kv-budget", "48", *ENDLESS]
        done = self.run_tiny("-p", "abc", "-n", "600", *streaming)  # the model was made for 256 tokens
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"context without end", done.stderr)
        self.assertIn(b"600 tokens", done.stderr)
        prompt = "abcdefgh" * 60
        self.assertEqual(self.answer("-p", prompt, "-n", "9", *streaming),
                         self.answer("-p", prompt, "-n", "9", *streaming, "--chunk-size", "7", "-t", "1"))
        # With -c it ends there.
        done = self.run_tiny("-p", "abc", "-c", "64", *streaming)
        self.assertIn(b"context of 64 tokens is full", done.stderr)

    def test_a_full_context_is_noted(self):
        done = self.run_tiny("-p", "abc", "-c", "32", "--raw", *ENDLESS)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"context of 32 tokens is full", done.stderr)
        self.assertIn(b"end     length", done.stderr)
        tokens = int(done.stderr.decode().split("decode")[1].split(" s   ")[1].split()[0])
        prompt = int(done.stderr.decode().split("prompt  ")[1].split(" s   ")[1].split()[0])
        self.assertEqual(prompt + tokens, 32)

    def test_stdout_has_the_answer_only_and_the_summary_goes_to_stderr(self):
        done = self.run_tiny("-p", "abc", "-n", "4", *ENDLESS)
        for word in [b"load ", b"prompt ", b"first token", b"decode ", b"ITL p50", b"threads", b"seed"]:
            self.assertIn(word, done.stderr)
            self.assertNotIn(word, done.stdout)
        self.assertEqual(self.run_tiny("-p", "abc", "-n", "4", "-q", *ENDLESS).stderr, b"")


class Output(CliTest):
    def test_a_closed_pipe_is_an_error_and_no_signal(self):
        for stream in ([], ["--no-stream"]):
            process = subprocess.Popen([TOCCATA, "run", "-m", self.model, "-p", "abc", *ENDLESS, *stream],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.close()
            error = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(SECONDS), 1, error)
            self.assertIn(b"cannot write to standard output", error)
            self.assertEqual(error.count(b"\n"), 1, error)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOCCATA, "run", "-m", self.model, "-p", "abc", "-n", "4", *ENDLESS], stdout=full,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)

    def test_an_interrupt_ends_the_answer_with_130(self):
        long = tiny_gguf.write(self.path("long.gguf"), context=1 << 20)
        process = subprocess.Popen([TOCCATA, "run", "-m", long, "-p", "abc", "-c", str(1 << 19), "--temp", "0", *ENDLESS],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(4)  # the answer has begun
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn(b"interrupted", error)


if __name__ == "__main__":
    main()
