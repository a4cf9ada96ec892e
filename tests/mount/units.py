"""What systemd does with the units of contrib/, as far as tablefuse can tell."""
import re
import subprocess

MANAGER = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}  # its environment


def values(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def only(unit, name):
    (value,) = values(unit, name)
    return value


def start(unit, variables, **options):
    """Runs the commands in their order. Answers the first that fails, or the last. One behind a `-` may fail."""
    for command in values(unit, "ExecStartPre") + [only(unit, "ExecStart")]:
        words = command.removeprefix("-").split()
        done = subprocess.run(words, env={**MANAGER, **variables}, cwd="/", check=False, **options)
        if done.returncode != 0 and not command.startswith("-"):
            break
    return done
