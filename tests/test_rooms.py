#!/usr/bin/python3
"""The test of the rooms finds what it is there to find: each violation, planted in a tree that has none."""
import pathlib
import unittest

import planted

ROOMS = pathlib.Path(__file__).with_name("rooms")

GOOD = {
    "client/base/bytes.h": "int bytes_compare(int a);\n",
    "client/base/bytes.c": '#include "client/base/bytes.h"\n\nint bytes_compare(int a)\n{\n    return a;\n}\n',
    "client/base/position.c": '#include "client/base/bytes.h"\n\nint position_compare(int a)\n{\n    return bytes_compare(a);\n}\n',
    "client/text/digest.c": '#include "client/base/bytes.h"\n/* position_compare( is not called */\n',
    "client/text/decimal.c": "static int position_compare(int a)\n{\n    return a;\n}\n",
    "cache/address.h": '#include "client/base/bytes.h"\n',
    "cache/caller.h": "",
    "cache/account.h": '#include "cache/bulk/import.h"\n',
    "cache/bulk/import.h": "",
    "cache/bulk/export.c": '#include "cache/account.h"\n',
    "fs/main.c": "",
    "fs/file_system.h": "",
}

BAD = [
    ("client/base/planted.c", '#include "client/text/digest.h"', "is of a room above"),
    ("cache/known/a.h", '#include "cache/queue/pending.h"', "is of a room above"),
    ("cache/address.h", '#include "cache/known/range_cache.h"', "is of a room above"),
    ("client/cellar/a.c", "", "in no room of ORDER"),
    ("client/base/bytes.c", "int f(void)\n{\n    return position_compare(1);\n}", "calls come back: client/base/position.c"),
]


def check(extra):
    return planted.check(ROOMS, {**GOOD, **extra})


class RoomsTest(unittest.TestCase):
    def test_a_good_tree_passes(self):
        done = check({})
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_each_violation_is_found(self):
        for source, line, said in BAD:
            with self.subTest(source=source, line=line):
                room = source.rsplit("/", 1)[0]
                second = {} if f"{room}/" in "client/base/ cache/" else {f"{room}/second.h": ""}
                done = check({**second, source: GOOD.get(source, "") + "\n" + line + "\n"})
                self.assertEqual(done.returncode, 1)
                found = [text for text in done.stdout.splitlines() if "second.h" not in text]
                self.assertEqual(len(found), 1, done.stdout)
                self.assertIn(source, found[0])
                self.assertIn(said, found[0])

    def test_a_circle_of_three(self):
        files = {
            f"fs/tree/{a}.c": f"int {a}(void)\n{{\n    return {b}();\n}}\n"
            for a, b in (("one", "two"), ("two", "three"), ("three", "one"))
        }
        done = check(files)
        self.assertEqual(
            (done.returncode, done.stdout),
            (
                1,
                "fs/tree/one.c: calls come back: fs/tree/two.c (two), fs/tree/three.c (three), fs/tree/one.c (one)\n",
            ),
        )

    def test_sizes(self):
        alone = check({"fs/tree/names.c": ""})
        self.assertEqual((alone.returncode, alone.stdout), (1, "fs/tree/: 1 modules\n"))
        pairs = check({"fs/tree/names.c": "", "fs/tree/names.h": ""})
        self.assertEqual(pairs.stdout, "fs/tree/: 1 modules\n")
        for count, found in ((20, ""), (21, "fs/tree/: 21 modules\n")):
            self.assertEqual(check({f"fs/tree/m{i}.c": "" for i in range(count)}).stdout, found)

    def test_the_tour_names_what_is_there(self):
        good = "client/base and client/base/bytes, [cache/address.h](../../cache/address.h), `tests/rooms`\n"
        self.assertEqual(check({"contrib/docs/code.md": good}).stdout, "")
        found = check({"contrib/docs/code.md": good + "(client/base/byte)\n"}).stdout
        self.assertEqual(found, "contrib/docs/code.md: client/base/byte is neither a module nor a room\n")

    def test_a_tree_without_sources_is_no_success(self):
        self.assertEqual(planted.check(ROOMS, {}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
