"""The command ``hplint`` and ``python -m hplint``."""

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        # Editors and hooks ask this before everything else: answer without the option parser.
        from hplint import __version__

        try:
            print(f"hplint {__version__}", flush=True)
            return
        except (OSError, AttributeError):  # A full disk or a closed stream: the command line below tells it.
            pass
    if "_HPLINT_COMPLETE" in os.environ:
        # A shell asks for completions; hplint/cli/completion.py answers.
        from hplint.cli.completion import answer
        from hplint.cli.main import command_line

        sys.exit(answer(command_line()))
    from hplint.cli.main import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
