#!/usr/bin/python3
"""What meson and the headers refuse, and what they do without: `test_configure.py SOURCE MESON`."""
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

CROSS = """[binaries]
c = ['cc', '-m32', '-nostdlib', '-I{stub}']
[host_machine]
system = 'linux'
cpu_family = 'x86'
cpu = 'i686'
endian = 'little'
"""


def run(*command, **environment):
    path = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=path, check=False)


class ConfigureTest(unittest.TestCase):
    source = meson = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)
        self.stub = self.here / "include"
        (self.stub / "gnu").mkdir(parents=True)

    def configure(self, *options, **environment):
        return run(self.meson, "setup", *options, self.here / "build", self.source, **environment)

    def test_without_tests_neither_cmocka_nor_python_is_looked_for(self):
        done = self.configure("-Dtests=false")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("libcurl", done.stdout)
        self.assertNotIn("cmocka", done.stdout)
        self.assertNotIn("python", done.stdout)

    def test_musl_is_refused(self):
        """Here a header that does not call itself glibc's."""
        (self.stub / "features.h").write_text("#include_next <features.h>\n#undef __GLIBC__\n")
        done = self.configure("-Dtests=false", CC=f"cc -I{self.stub}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("tablefuse needs glibc", done.stdout)

    @unittest.skipUnless(platform.machine() == "x86_64", "-m32 is of this processor")
    def test_32_bit_is_refused(self):
        (self.stub / "gnu/stubs-32.h").touch()  # which the package libc6-dev-i386 would bring
        cross = self.here / "cross"
        cross.write_text(CROSS.format(stub=self.stub))
        done = self.configure("-Dtests=false", "--cross-file", str(cross))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("tablefuse needs a machine of 64 bits", done.stdout)
        machine = run("cc", "-print-multiarch").stdout.strip()
        includes = [f"-I{self.stub}", f"-I/usr/include/{machine}"]
        header = f"-include{self.source}/client/base/base.h"
        done = run("cc", "-m32", "-D_GNU_SOURCE", *includes, header, "-fsyntax-only", "-xc", "/dev/null")
        self.assertEqual(done.stderr.count("static assertion failed"), 2, done.stderr)


if __name__ == "__main__":
    ConfigureTest.source, ConfigureTest.meson = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
