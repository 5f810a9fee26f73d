"""What the command-line tests share: the program, a tiny model, and ways to run one on the other."""

import os
import resource
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

TOCCATA = os.environ.get("TOCCATA_PROGRAM", "toccata")
SECONDS = 300  # no test takes long; a busy machine may
MEMORY = 256 << 20  # enough for any refusal


def limit_memory():
    """For the child's preexec_fn. The sanitizers reserve terabytes of addresses; ASAN_OPTIONS limits them instead."""
    if not os.environ.get("TOCCATA_SANITIZE"):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


LIMITED = {"preexec_fn": limit_memory, "env": {**os.environ, "ASAN_OPTIONS": "max_allocation_size_mb=64"}}


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        cls.model = tiny_gguf.write(os.path.join(cls.folder, "tiny.gguf"))

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def call(self, *arguments, stdin=b"", **options):
        """The finished process; a signal or a time-out is a failure whatever the test is about."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        done = subprocess.run([TOCCATA, *arguments], input=stdin, timeout=SECONDS, **options)
        self.assertGreaterEqual(done.returncode, 0, f"killed by a signal: {arguments} {done.stderr!r}")
        return done

    def run_tiny(self, *arguments, **options):
        return self.call("run", "-m", self.model, *arguments, **options)

    def answer(self, *arguments, **options):
        """stdout of a run that must succeed."""
        done = self.run_tiny(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, words, *arguments, **options):
        """The call fails with `code`, prints nothing to stdout, and one line to stderr that has all the words."""
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertEqual(done.stdout, b"", arguments)
        lines = done.stderr.decode(errors="replace").splitlines()
        self.assertEqual(len(lines), 1, lines)
        for word in words if isinstance(words, (list, tuple)) else [words]:
            self.assertIn(word, lines[0])


def main():
    unittest.main(verbosity=1, argv=sys.argv)
