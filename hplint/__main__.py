"""The command ``hplint`` and ``python -m hplint``."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        # Editors and hooks ask this before everything else: answer without the option parser.
        from hplint import __version__

        print(f"hplint {__version__}")
        return
    from hplint.cli.main import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
