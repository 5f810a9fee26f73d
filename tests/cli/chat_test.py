#!/usr/bin/env python3
"""Chat on a terminal: a pseudo-terminal types, the screen is read."""

import os
import pty
import select
import subprocess
import time
import unittest

import tiny_gguf
from cli import SECONDS, TOCCATA, CliTest, main

A = tiny_gguf.LETTER_BASE


class Terminal:
    def __init__(self, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([TOCCATA, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: _take_terminal(slave),
                                        env={**os.environ, "TERM": "vt100", "HOME": "/nonexistent"})
        os.close(slave)
        self.seen = b""

    def expect(self, text, seconds=SECONDS):
        """Reads until `text` appears; what came after it stays for the next call."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not appear in {self.seen!r}")
            try:
                data = os.read(self.master, 4096)
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"ended before {text!r}: {self.seen!r}")
            self.seen += data
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, data):
        os.write(self.master, data)

    def end(self):
        """The exit code; reads the rest, so that the program cannot block on a full terminal."""
        try:
            while select.select([self.master], [], [], SECONDS)[0] and os.read(self.master, 4096):
                pass
        except OSError:
            pass
        code = self.process.wait(SECONDS)
        os.close(self.master)
        return code


def _take_terminal(slave):
    import fcntl
    import termios
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


class Chat(CliTest):
    def chat(self, *arguments):
        return Terminal("run", "-m", self.model, "--temp", "0", *arguments)

    def test_answers_commands_and_exit(self):
        t = self.chat("-n", "6", "-l", f"{A}+1000")
        t.expect(b"> ")
        t.type(b"/help\r")
        t.expect(b"/reset")
        t.expect(b"> ")
        for _ in range(2):
            t.type(b"hello\r")
            t.expect(b"aaaaaa")
            t.expect(b"> ")
        t.type(b"/reset\r")
        t.expect(b"> ")
        t.type(b"\r")
        t.expect(b"> ")
        t.type(b"/exit\r")
        self.assertEqual(t.end(), 0)

    def test_the_conversation_is_remembered_and_reset_forgets_it(self):
        t = self.chat("-n", "6", "-v", "-l", f"{A}+1000")
        t.expect(b"> ")

        def prompt_tokens(text):
            t.type(text + b"\r")
            t.expect(b"prompt")
            t.expect(b" s   ")
            n = int(t.expect(b" tokens"))
            t.expect(b"> ")
            return n

        first, second = prompt_tokens(b"hello"), prompt_tokens(b"hello")
        self.assertGreater(second, first + 6)
        t.type(b"/reset\r")
        t.expect(b"> ")
        self.assertEqual(prompt_tokens(b"hello"), first)
        t.type(b"\x04")
        self.assertEqual(t.end(), 0)

    def test_editing_and_history(self):
        t = self.chat("-n", "3", "-l", f"{A}+1000")
        t.expect(b"> ")
        t.type(b"/exix\x7ft\x01\x05\x7f\x7f\x7f\x7f\x7fhi\r")  # backspace, Ctrl-A, Ctrl-E: what is sent is "hi"
        t.expect(b"aaa")
        t.expect(b"> ")
        t.type(b"\x10")  # Ctrl-P: the line before
        t.expect(b"hi")
        t.type(b"\x15/exit\r")  # Ctrl-U clears
        self.assertEqual(t.end(), 0)

    def test_ctrl_c_stops_an_answer_and_twice_leaves(self):
        long = tiny_gguf.write(self.path("long.gguf"), context=1 << 20)
        t = Terminal("run", "-m", long, "-c", str(1 << 19), "--temp", "0", "-l", f"{A}+1000")
        t.expect(b"> ")
        t.type(b"hello\r")
        t.expect(b"aaaaaaaaaaaaaaaa")
        t.type(b"\x03")
        t.expect(b"interrupted")
        t.expect(b"> ")
        t.type(b"\x03")
        t.expect(b"again")
        t.expect(b"> ")
        t.type(b"\x03")
        self.assertEqual(t.end(), 130)

    def test_a_message_that_does_not_fit_is_dropped(self):
        t = self.chat("-c", "64", "-n", "3", "-l", f"{A}+1000")
        t.expect(b"> ")
        t.type(b"b" * 70 + b"\r")
        t.expect(b"n_ctx = 64")
        t.expect(b"> ")
        t.type(b"hello\r")
        t.expect(b"aaa")
        t.expect(b"> ")
        t.type(b"/exit\r")
        self.assertEqual(t.end(), 0)

    def test_without_a_template_there_is_no_chat(self):
        bare = tiny_gguf.write(self.path("bare.gguf"), template=None)
        t = Terminal("run", "-m", bare)
        t.expect(b"no chat template")
        self.assertEqual(t.end(), 1)


if __name__ == "__main__":
    if os.name != "posix":
        raise unittest.SkipTest("needs a pseudo-terminal")
    main()
