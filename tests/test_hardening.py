#!/usr/bin/python3
"""The program is built as distributions build theirs: `test_hardening.py PROGRAM ARCHIVE...`, by what readelf says."""
import re
import subprocess
import sys
import unittest


def readelf(option, file):
    done = subprocess.run(
        ["readelf", "--wide", option, file],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    return done.stdout


class HardeningTest(unittest.TestCase):
    program, archives = None, []

    def test_its_place_in_memory_is_not_known(self):
        self.assertRegex(readelf("--file-header", self.program), r"Type: +DYN")
        self.assertRegex(readelf("--dynamic", self.program), r"\(FLAGS_1\).*\bPIE\b")

    def test_what_is_relocated_is_read_only_before_main(self):
        self.assertIn("GNU_RELRO", readelf("--program-headers", self.program))
        self.assertRegex(readelf("--dynamic", self.program), r"\(FLAGS_1\).*\bNOW\b")

    def test_nothing_is_both_written_and_run(self):
        headers = readelf("--program-headers", self.program)
        self.assertRegex(headers, r"GNU_STACK .* RW ")
        self.assertNotRegex(headers, r"(?:LOAD|GNU_STACK) .* RWE ")
        self.assertNotIn("TEXTREL", readelf("--dynamic", self.program))

    def test_it_searches_no_library_of_its_own(self):
        self.assertNotRegex(readelf("--dynamic", self.program), r"\((?:RPATH|RUNPATH)\)")

    def test_overruns_are_noticed(self):
        symbols = readelf("--dyn-syms", self.program)
        self.assertIn("__stack_chk_fail", symbols)
        fortified = set(re.findall(r"\b__(\w+)_chk\b", symbols))
        self.assertLessEqual({"snprintf", "vsnprintf", "memcpy"}, fortified)

    def test_branches_have_marked_targets(self):
        """The program as a whole has the mark if that of libc's start files has it, too."""
        machine = readelf("--file-header", self.program)
        mark = "IBT, SHSTK" if "X86-64" in machine else "BTI, PAC" if "AArch64" in machine else ""
        for archive in self.archives:
            notes = readelf("--notes", archive)
            objects = notes.count("File: ")
            self.assertGreater(objects, 10)
            self.assertEqual(notes.count(mark) if mark else objects, objects)


if __name__ == "__main__":
    HardeningTest.program, *HardeningTest.archives = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
