"""Runs a check of the source tree on a small tree with planted violations."""
import pathlib
import subprocess
import sys
import tempfile


def check(program, files):
    """files: {name: text}. The finished command."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = pathlib.Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, program, directory], capture_output=True, text=True, timeout=60)
