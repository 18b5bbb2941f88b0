"""What wherefrom's own wheel leaves out goes into this package, under the same names."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("src") / "wherefrom"


class LeftOutFiles(BuildHookInterface[Any]):
    """Adds them to a build in a checkout; from an sdist they lie in the package already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - given by name
        checkout = Path(self.root).parent
        if not (checkout / PACKAGE).is_dir():
            return
        own = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
        for pattern in own["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]:
            for path in sorted(checkout.glob(pattern)):
                name = path.relative_to(checkout / PACKAGE)
                if path.name != "__pycache__":
                    build_data["force_include"][str(path)] = str("wherefrom_lab" / name)
        build_data["force_include"][str(checkout / "LICENSE")] = "wherefrom_lab/LICENSE"
