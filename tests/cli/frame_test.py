#!/usr/bin/env python3
"""The program's frame: help, version, wrong usage."""

import os
import re
import subprocess
import unittest

from cli import TOCCATA, main


def run(*args, **environment):
    return subprocess.run([TOCCATA, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})


def commands():
    """Names in the list of --help."""
    listing = run("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.splitlines()]


class Frame(unittest.TestCase):
    def expect_usage_error(self, result, text):
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_help_lists_commands_that_all_explain_themselves(self):
        self.assertEqual(run("--help").returncode, 0)
        self.assertEqual(run("help").stdout, run("-h").stdout)
        self.assertIn("run", commands())
        for name in commands():
            with self.subTest(name):
                result = run(name, "--help")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("toccata " + name, result.stdout)
                self.assertEqual(run("help", name).stdout, result.stdout)

    def test_version_names_the_kernels_in_use(self):
        text = run("--version").stdout
        self.assertIn("toccata " + os.environ["TOCCATA_VERSION"], text)
        available = re.search(r"\(available: (.*)\)", text).group(1).split(", ")
        self.assertEqual(available[0], "generic")
        for isa in available:
            self.assertIn(f"kernels: {isa} (", run("--version", TOCCATA_ISA=isa).stdout)

    def test_unknown_instruction_set_is_refused(self):
        result = run("--version", TOCCATA_ISA="mmx")
        self.expect_usage_error(result, "mmx")
        self.assertIn("generic", result.stderr)

    def test_wrong_usage(self):
        self.expect_usage_error(run(), "no command")
        self.expect_usage_error(run("fly"), "'fly' is not a command")
        self.expect_usage_error(run("help", "fly"), "'fly' is not a command")
        for name in commands():
            with self.subTest(name):
                self.expect_usage_error(run(name, "--no-such-option"), name)

    def test_missing_model_is_one_sentence(self):
        for args in (["run", "-m", "/nonexistent.gguf", "-p", "x"], ["inspect", "/nonexistent.gguf"]):
            result = run(*args)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertIn("/nonexistent.gguf", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(subprocess.run([TOCCATA, "--help"], stdout=full, stderr=subprocess.PIPE).returncode, 1)


if __name__ == "__main__":
    main()
