"""README is true: its transcript is run, its configurations parse, and every command and exit code stands in it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from slw.cli import terminal
from slw.cli.root import ENTRIES

README = (Path(__file__).resolve().parent.parent / "README.md").read_text("utf-8")
MARK = "=== next command ==="


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def transcript():
    """(command, expected lines) of every console block, in order."""
    steps = []
    for line in "".join(blocks("console")).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def pattern(line):
    """What a line of the README matches: `…` stands for what differs each time, white space for any."""
    words = [re.escape(word).replace("…", r".*?") for word in line.split()]
    return re.compile(r"\s+".join(words))


# `last mem` prints the id of that sort that was printed last; a reader would have copied it from the terminal.
SHELL = f"""
slw() {{ "{sys.executable}" -m slw.cli.main "$@"; }}
last() {{ grep -o "$1_[0-9a-z]*" seen | tail -n 1; }}
trap 'slw serve stop > /dev/null' EXIT
"""


def test_the_transcript_is_what_happens():
    steps = transcript()
    assert len(steps) > 5
    script = [SHELL]
    for command, _ in steps:
        typed = re.sub(r"\b(mem|sess|ret)_…", r"$(last \1)", command)
        script.append(f"{{ {typed}\n}} > now; cat now; cat now >> seen; echo '{MARK}'")
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        (Path(name) / "work").mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SLW_")}
        ran = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=Path(name) / "work",
            env={**kept, "SLW_HOME": str(Path(name) / "home")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    outputs = ran.stdout.split(f"{MARK}\n")
    for (command, expected), output in zip(steps, outputs, strict=False):
        lines = output.splitlines()
        assert len(lines) == len(expected), f"$ {command}\n{output}\n{ran.stderr}"
        for line, wanted in zip(lines, expected, strict=True):
            assert pattern(wanted).fullmatch(line.strip()), f"$ {command}\n{line}\nis not\n{wanted}"


def test_every_command_is_documented():
    missing = [name for name in ENTRIES if not re.search(rf"^\| `slw {name}\b", README, re.MULTILINE)]
    assert not missing
    named = re.findall(r"^\| `slw (\w+)", README, re.MULTILINE)
    assert not set(named) - set(ENTRIES), "README names a command that is not there"


def test_every_exit_code_is_documented():
    codes = {value for name, value in vars(terminal).items() if name.startswith("EXIT_") and isinstance(value, int)}
    assert codes == {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}


@pytest.mark.parametrize("block", blocks("json"))
def test_client_configurations_in_json_start_slw_mcp(block):
    assert '"slw"' in block
    assert '"mcp"' in block
    json.loads(block)


def test_the_configuration_of_codex_starts_slw_mcp():
    (block,) = blocks("toml")
    assert tomllib.loads(block)["mcp_servers"]["slw"] == {"command": "slw", "args": ["mcp"]}


def test_the_test_command_stands_between_its_marks():
    assert re.search(r"<!-- test command -->\n```sh\n.*pytest.*\n```\n<!-- end -->", README)
