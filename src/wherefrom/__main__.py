"""`python -m wherefrom` is the same as `wherefrom`."""

from wherefrom.cli import main

main()
