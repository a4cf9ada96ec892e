"""What systemd does with the units of contrib/, as far as tablefuse can tell."""
import re
import subprocess

MANAGER = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}  # its environment


def values(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def only(unit, name):
    (value,) = values(unit, name)
    return value


def privileges(unit):
    """The command that takes away what the unit takes away, by which a program is run; as root, if it is any."""
    words = []
    if "yes" in values(unit, "NoNewPrivileges"):
        words += ["--no-new-privs"]
    for names in values(unit, "CapabilityBoundingSet"):
        kept = [f"+{name.removeprefix('CAP_').lower()}" for name in names.split()]
        words += ["--bounding-set", ",".join(["-all", *kept])]
    return ["setpriv", *words] if words else []


def start(unit, variables, **options):
    """Runs the commands in their order. Answers the first that fails, or the last. One after a `-` may fail."""
    for command in values(unit, "ExecStartPre") + [only(unit, "ExecStart")]:
        words = privileges(unit) + command.removeprefix("-").split()
        done = subprocess.run(words, env={**MANAGER, **variables}, cwd="/", check=False, **options)
        if done.returncode != 0 and not command.startswith("-"):
            break
    return done
