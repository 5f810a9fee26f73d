#!/usr/bin/env python3
"""The commands of the documents work: each option exists, and what can run alone on a tiny model ends with code 0.

A command is a line of a shell block that calls toccata or a script of tools/. Files that it names are made here; it
runs in a folder of its own. SKIPPED lists what is not run, and why; its options are checked all the same.
"""

import glob
import os
import re
import shlex
import shutil
import sys

import tiny_gguf
from cli import CliTest, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lint"))
from check_docs import commands  # noqa: E402

SKIPPED = {  # by how the command begins
    "toccata serve": "runs until it is ended; tests/server starts it",
    "toccata bench serve": "needs a running server; tests/server has one",
}
TEXT = "the quick fox leaps over the lazy dog and the quick fox leaps again. " * 4
FILES = {"prompt.txt": "abc", "letter.txt": TEXT, "book.txt": TEXT, "arrivals.jsonl": (
    '{"arrival": 0, "prompt": 100, "output": 5}\n{"arrival": 0.5, "prompt": 300, "output": 5}\n')}
MODELS = ("model.gguf", "target.gguf", "small.gguf", "draft.gguf", "a.gguf", "b.gguf")
CONTEXT = 2048
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def words_of(line):
    """The words of the first program of a shell line that is toccata or a script of tools/; None: there is none."""
    if not re.search(r"\btoccata |\btools/", line):
        return None  # and may be part of a text of several lines
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    words = []
    for word in [*lexer, ";"]:
        if word and not set(word) <= set("|&;<>()"):
            words.append(word)
            continue
        if words and os.path.basename(words[0]) == "toccata":
            return ["toccata", *words[1:]]
        if words and re.fullmatch(r"(?:\./)?tools/\w+\.py", words[0]):
            return words
        words = []
    return None


def documented():
    """(document, line, words) of every command."""
    paths = ["README.md", "CONTRIBUTING.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT))]
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            for line in commands(file.read()):
                if words := words_of(line):
                    yield path, line, words


def skipped(words):
    return next((start for start in SKIPPED if words[:len(start.split())] == start.split()), None)


def bounded(words):
    """The command with an end of its answer: with random weights and a random seed there need be none."""
    endless = words[:2] == ["toccata", "run"] and not {"-n", "--n-predict"} & set(words)
    return [*words, "-n", "64"] if endless else words


class Documents(CliTest):
    helps = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tiny_gguf.write(os.path.join(cls.folder, MODELS[0]), context=CONTEXT)
        for name in MODELS[1:]:
            shutil.copyfile(os.path.join(cls.folder, MODELS[0]), os.path.join(cls.folder, name))
        for name, content in FILES.items():
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(content)

    def help_of(self, words):
        """The help of the command that the words call: of toccata's subcommands, and theirs, or of a script."""
        command = tuple(words[:1])
        if words[0] == "toccata" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            command += (words[1],)
            if len(words) > 2 and words[1] in ("simulate", "bench") and re.fullmatch(r"[a-z]+", words[2]):
                command += (words[2],)
        if command not in self.helps:
            if command[0] == "toccata":
                done = self.call(*command[1:], "--help")
                self.assertEqual(done.returncode, 0, (command, done.stderr))
                self.helps[command] = done.stdout.decode()
            else:
                with open(os.path.join(ROOT, command[0]), encoding="utf-8") as script:
                    self.helps[command] = "".join(re.findall(r"add_argument\([^)]*\)", script.read()))
        return self.helps[command]

    def unknown(self, words):
        """Options of a command that its help does not name; a word in quotes that has blanks is no option."""
        # Below the options stand examples, which must not vouch for themselves.
        known = set(OPTION.findall(re.split(r"^Examples:", self.help_of(words), flags=re.MULTILINE)[0]))
        given = [w.split("=")[0] for w in words[1:] if OPTION.fullmatch(w.split("=")[0])]
        return [w for w in given if w not in known | {"--help", "-h", "--version"}]

    def test_every_option_exists(self):
        lines = list(documented())
        self.assertGreater(len(lines), 20)
        for path, line, words in lines:
            with self.subTest(path=path, line=line):
                self.assertEqual(self.unknown(words), [])

    def test_examples_of_the_help(self):
        done = self.call("--help")
        names = re.findall(r"^  ([a-z]+)  +[a-z]", done.stdout.decode(), re.MULTILINE)
        self.assertIn("run", names)
        for name in names:
            for line in self.help_of(["toccata", name]).splitlines():
                words = words_of(line.strip()) if re.match(r" +toccata \w", line) else None
                with self.subTest(line=line):
                    self.assertEqual(self.unknown(words) if words else [], [])

    def test_commands_run(self):
        run = 0
        for path, line, words in documented():
            if words[0] != "toccata" or skipped(words):
                continue
            run += 1
            with self.subTest(path=path, line=line):
                done = self.call(*bounded(words)[1:], stdin=b"abc", cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertGreater(run, 15)

    def test_skipped_ones_are_there(self):
        seen = {skipped(words) for _, _, words in documented()}
        self.assertEqual(seen - {None}, set(SKIPPED))

    def test_can_fail(self):
        self.assertEqual(self.unknown(["toccata", "run", "--gone", "-n", "-1", "-q"]), ["--gone"])
        self.assertEqual(self.unknown(["toccata", "bench", "serve", "--url=x", "--n-gen", "1"]), ["--n-gen"])
        self.assertEqual(words_of("cat a | build/release/apps/toccata/toccata run -p 'a | b' > x"),
                         ["toccata", "run", "-p", "a | b"])
        self.assertIsNone(words_of("curl localhost/toccata -d '{}'"))


if __name__ == "__main__":
    main()
