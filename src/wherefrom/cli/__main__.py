"""`python -m wherefrom.cli` is the same as `wherefrom`."""

from wherefrom.cli import main

main()
