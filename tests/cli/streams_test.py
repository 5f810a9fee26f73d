#!/usr/bin/env python3
"""Ctrl-C in every phase, closed standard streams, and lines of JSON that end early or hold what JSON cannot say."""

import json
import os
import signal
import subprocess
import time

import tiny_gguf
from cli import SECONDS, TOCCATA, CliTest, main

LENGTH = 1 << 19  # tokens that the tiny model reads for longer than a test waits


class Interrupts(CliTest):
    def start(self, *arguments):
        return subprocess.Popen([TOCCATA, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def interrupt(self, process, out=b""):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest, error = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, rest, error), (130, out, b""))

    def test_lines_of_json(self):
        for command, line in (("tokenize", {"text": "ab"}), ("detokenize", {"ids": [70]})):
            for begun in (b"", b"{\"te", json.dumps(line).encode()):  # the last one lacks no more than its newline
                with self.subTest(command=command, begun=begun):
                    process = self.start(command, "-m", self.model, "--jsonl")
                    process.stdin.write(json.dumps(line).encode() + b"\n" + begun)
                    process.stdin.flush()
                    self.assertTrue(process.stdout.readline())
                    self.interrupt(process)

    def test_a_long_prompt(self):
        long = tiny_gguf.write(self.path("long.gguf"), context=2 * LENGTH)
        common = ["-m", long, "-t", "1", "-c", str(2 * LENGTH), "--chunk-size", "16"]
        for command in (["eval", "--perplexity", "-"], ["eval", "--dump-hash", "-f", "-"]):
            with self.subTest(command=command):
                process = self.start(*command, *common)
                process.stdin.write(b"a" * LENGTH)
                process.stdin.close()  # all but the pipe's 64 KiB has been read: the program handles the signal
                process.stdin = None
                self.interrupt(process)

    def test_bench(self):
        for test in (["-p", str(LENGTH), "-n", "0"], ["-p", "0", "-n", str(LENGTH)], ["-p", "0", "-d", str(LENGTH)]):
            with self.subTest(test=test):
                process = self.start("bench", "-m", self.model, "-t", "1", "-ub", "16", *test)
                while b"---" not in (line := process.stdout.readline()):  # the table's header: the test begins
                    self.assertTrue(line)
                self.interrupt(process)


class Closed(CliTest):
    def test_no_file_takes_the_place_of_a_closed_stream(self):
        process = subprocess.Popen([TOCCATA, "tokenize", "-m", self.model, "--jsonl"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
        process.stdin.write(b"{\"text\":\"a\"}\n")
        process.stdin.flush()
        self.assertTrue(process.stdout.readline())
        try:
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/2"), "/dev/null")
        finally:
            process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0)

    def test_reading_and_writing_fail(self):
        for command in (["run"], ["run", "-f", "-"], ["tokenize"], ["detokenize"]):
            self.refused(1, "standard input", *command, "-m", self.model, preexec_fn=lambda: os.close(0))
        self.refused(1, "stdin, line 1", "tokenize", "-m", self.model, "--jsonl", preexec_fn=lambda: os.close(0))
        for command in (["--help"], ["run", "--help"], ["inspect", self.model], ["tokenize", "-m", self.model, "-p", "a"],
                        ["run", "-m", self.model, "-p", "a", "-n", "2"]):
            done = self.call(*command, preexec_fn=lambda: os.close(1), stdout=None)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1))
            self.assertIn(b"cannot write to standard output", done.stderr)


class JsonLines(CliTest):
    def test_numbers_that_json_cannot_say_are_refused(self):
        for value in (b"1e999", b"-1e999", b"[1,{\"a\":[1e400]}]"):
            self.refused(1, ["stdin, line 1", "beyond the range"], "tokenize", "-m", self.model, "--jsonl",
                         stdin=b"{\"id\":" + value + b",\"text\":\"a\"}\n")

    def test_bad_lines_are_named(self):
        good = b"{\"id\":1,\"text\":\"a\"}\n"
        for bad in (b"{", b"[1]", b"null", b"{}", b"{\"text\":1}", b"\xff", b"{\"text\":\"\xff\"}", b"{\"text\":\"a\"} x",
                    b"{\"text\":\"\\ud800\"}", b"[" * 100000):
            with self.subTest(bad=bad[:20]):
                done = self.call("tokenize", "-m", self.model, "--jsonl", stdin=good + b"\n" + bad + b"\n" + good)
                self.assertEqual((done.returncode, done.stdout.count(b"\n"), done.stderr.count(b"\n")), (1, 1, 1))
                self.assertIn(b"stdin, line 3", done.stderr)


if __name__ == "__main__":
    main()
