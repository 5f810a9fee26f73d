#!/usr/bin/env python3
"""Wrong usage and bad files: one line on stderr that names the fault, exit code 2 or 1, no signal."""

import os

from cli import CliTest, main


class Usage(CliTest):
    def test_wrong_options(self):
        m = ["-m", self.model]
        cases = [
            (["run"], "no model"),
            (["run", *m, "-p"], ["-p", "needs a value"]),
            (["run", *m, "--tempp", "1"], ["--tempp", "did you mean --temp?"]),
            (["run", *m, "-z"], "'-z'"),
            (["run", *m, "stray"], "'stray'"),
            (["run", *m, "--", "stray"], "--"),
            (["run", *m, "--raw=1", "-p", "x"], ["--raw", "no value"]),
            (["run", *m, "-p", "x", "-f", "y"], ["-p", "-f"]),
            (["run", *m, "-p", "x", "--raw", "--system", "y"], ["--system", "--raw"]),
            (["run", *m, "-p", "x", "--attention", "fast"], ["--attention", "flash|naive", "'fast'"]),
            (["run", *m, "-p", "x", "-ctk", "q5_0"], ["-ctk", "f32|f16|bf16|q8_0|q4_0"]),
            (["serve", *m, "--kv-cache-dtype", "fp8"], ["--kv-cache-dtype", "q8_0"]),
            (["run", *m, "-p", "x", "--logit-bias", "abc"], ["--logit-bias", "'abc'"]),
            (["run", *m, "-p", "x", "--kv-policy", "best"], ["--kv-policy", "full|streaming|h2o|snapkv", "'best'"]),
            (["run", *m, "-p", "x", "--kv-policy", "streaming"], ["--kv-policy streaming", "budget"]),
            (["run", *m, "-p", "x", "--kv-policy", "h2o"], ["--kv-policy h2o", "budget"]),
            (["run", *m, "-p", "x", "--kv-policy", "snapkv", "--kv-budget", "9", "--kv-recent", "9"], ["4 sinks", "9"]),
            (["run", *m, "-p", "x", "--kv-policy", "h2o", "--kv-budget", "64", "--kv-heavy-ratio", "2"], "--kv-heavy-ratio"),
            (["run", *m, "-p", "x", "--kv-budget", "64"], ["--kv-policy full", "--kv-budget"]),
            (["run", *m, "-p", "x", "--kv-policy", "streaming", "--kv-budget", "4"], ["4 tokens", "4 sinks"]),
            (["run", *m, "-p", "x", "--kv-policy", "streaming", "--kv-budget", "64", "--kv-recent", "9"], ["9", "64"]),
            (["bench", *m, "--kv-policy", "streaming", "--kv-budget", "64", "--attention", "naive"],
             ["--attention naive", "--kv-policy full"]),
            (["eval", *m, "--perplexity", "x", "--kv-policy", "streaming"], "budget"),
            (["eval", *m], "--cases"),
            (["eval", *m, "--dump-hash"], "-f"),
            (["eval", *m, "--cases", "a", "--perplexity", "b"], "one of"),
            (["bench"], "no model"),
            (["bench", *m, "-p", "0", "-n", "0"], "nothing to do"),
            (["bench", *m, "-pg", "5"], ["-pg", "'5'"]),
            (["bench", *m, "-p", "1,,2"], ["-p", "integer"]),
        ]
        for arguments, words in cases:
            with self.subTest(arguments=arguments):
                self.refused(2, words, *arguments)

    def test_numbers_out_of_range(self):
        for option in ["-n", "-c", "-t", "--top-k", "-s", "--repeat-last-n", "--chunk-size", "--logprobs"]:
            for value in ["99999999999999999999999", "-99999999999999999999999", "1.5", "x", "", " 1", "1 ", "0x10", "-2147483649"]:
                with self.subTest(option=option, value=value):
                    self.refused(2, [option, "integer"], "run", "-m", self.model, "-p", "x", option, value)
        for option in ["--temp", "--top-p", "--min-p", "--typical", "--repeat-penalty", "--presence-penalty"]:
            for value in ["1e9", "-1e9", "nan", "inf", "1,5", "x", "", "1e999"]:
                with self.subTest(option=option, value=value):
                    self.refused(2, [option, "number"], "run", "-m", self.model, "-p", "x", option, value)

    def test_parameters_that_no_model_takes_are_wrong_usage(self):
        for option, value, name in [("--top-p", "0", "top_p"), ("--typical", "0", "typical_p"),
                                    ("--repeat-penalty", "0", "repetition_penalty"), ("-l", "5+nan", "logit_bias"),
                                    ("-l", "5+inf", "logit_bias"), ("-l", "5+1e39", "logit_bias")]:
            with self.subTest(option=option, value=value):
                self.refused(2, name, "run", "-m", "missing.gguf", "-p", "x", option, value)

    def test_parameters_that_only_the_model_refuses(self):
        self.refused(1, "logprobs", "run", "-m", self.model, "-p", "x", "--logprobs", "123456")
        self.refused(1, "logit_bias", "run", "-m", self.model, "-p", "x", "--logit-bias", "123456+1")

    def test_outside_text_stays_on_one_line(self):
        self.refused(2, "??", "run", "-m", self.model, "--a\n\x1b[31m", "-p", "x")
        self.refused(2, "...", "run", "-m", self.model, "--temp", "9" * 5000)
        for arguments in (["a\n\x1b[31m"], ["help", "a\nb"], ["run", "--\u009b31m"], ["run", "--\u2028"]):
            self.refused(2, "?", *arguments)
        for k in range(3):  # the cut of long texts does not split a character
            self.assertNotIn("\ufffd", self.call("run", "-m", "x", "--temp", "9" * k + "\u20ac" * 50).stderr.decode())
        for command in ["run", "inspect", "bench", "tokenize", "detokenize"]:
            self.refused(1, "no?such?file", command, "-m", "no\nsuch\x85file".encode("latin-1"), stdin=b"")
        self.refused(1, "", "run", "-m", "no\nsuch\nfile", "-p", "x")
        self.refused(1, "", "run", "-m", b"\xff\xfe.gguf", "-p", "x")

    def test_help_names_every_option_and_exits_0(self):
        for command in ["run", "eval", "bench"]:
            done = self.call(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            for word in [b"--model", b"--threads", b"--chunk-size", b"Examples:"]:
                self.assertIn(word, done.stdout)

    def test_bad_model_files(self):
        with open(self.model, "rb") as file:
            good = file.read()
        files = {
            "missing.gguf": None,
            "empty.gguf": b"",
            "text.gguf": b"this is no model\n" * 100,
            "cut.gguf": good[: len(good) // 2],
            "head.gguf": good[:40],
        }
        for name, content in files.items():
            for command in (["run", "-p", "x"], ["bench", "-p", "8", "-n", "0"], ["eval", "--perplexity", self.model]):
                with self.subTest(name=name, command=command):
                    path = self.path(name, content) if content is not None else self.path(name)
                    self.refused(1, name, *command, "-m", path)
        self.refused(1, os.path.basename(self.folder), "run", "-p", "x", "-m", self.folder)


if __name__ == "__main__":
    main()
