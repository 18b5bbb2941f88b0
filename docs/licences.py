"""The licences of what an installation brings along, read from the packages that are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_SHORT = 60  # characters: what is longer is no name of a licence but its text
_CLASSIFIER = "License :: "


def needed(package: str, extra: str = "") -> dict[str, Distribution]:
    """Every package that is installed for another one, and for those, by name; without itself."""
    known: dict[str, Distribution] = {}
    waiting = list(_requirements(package, extra))
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in known:
            continue
        try:
            known[name] = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(
                f"{name} is not installed, so that its licence is not known; `make test` installs it"
            ) from None
        for each in ("", *sorted(requirement.extras)):
            waiting += _requirements(name, each)
    known.pop(canonicalize_name(package), None)
    return dict(sorted(known.items()))


def _requirements(package: str, extra: str) -> Iterator[Requirement]:
    """What a package requires here, on this system and version of Python; of an extra, what that adds."""
    for line in distribution(package).requires or []:
        requirement = Requirement(line)
        if requirement.marker is None:
            wanted = not extra
        elif extra:
            wanted = requirement.marker.evaluate({"extra": extra}) and not requirement.marker.evaluate({"extra": ""})
        else:
            wanted = requirement.marker.evaluate({"extra": ""})
        if wanted:
            yield requirement


def licence(package: Distribution) -> str:
    """Its name, as the package says it: by an expression, in words, or by a classifier."""

    def values_of(name: str) -> list[str]:
        return package.metadata.get_all(name) or []

    expression = "".join(values_of("License-Expression")[:1])
    words = " ".join("".join(values_of("License")[:1]).split())
    classified = [
        value.removeprefix(_CLASSIFIER).removeprefix("OSI Approved :: ")
        for value in values_of("Classifier")
        if value.startswith(_CLASSIFIER)
    ]
    named = expression or (words if len(words) <= _SHORT else "") or " and ".join(classified)
    return re.sub(r"\bUNKNOWN\b", "", named).strip() or "not said; see the package"


def page(weights: str) -> str:
    """The page: ours, that of the weights, and those of others."""
    plain = needed("wherefrom")
    server = {name: each for name, each in needed("wherefrom", "server").items() if name not in plain}
    parts = [
        "# Licences\n",
        "*Generated from `src/wherefrom/weights/LICENSE.md` and from what is installed by `make docs`.*\n",
        "## Code\n\nwherefrom and wherefrom-lab are under the Apache License 2.0, as `LICENSE` says.\n",
        weights.replace("# Licence of the weights", "## Weights", 1),
        "## Packages of others\n",
        "They are installed beside wherefrom, under licences of their own; none of them is copied into it. This is "
        "what the packages say of themselves, on Linux with Python 3.11; `pip show NAME` says more of each.\n",
        f"### With `pip install wherefrom` ({len(plain)})\n",
        _table(plain),
        f"### More with `wherefrom[server]` ({len(server)})\n",
        _table(server),
    ]
    return "\n".join(parts)


def _table(packages: dict[str, Distribution]) -> str:
    rows = [f"| {name} | {licence(each)} |" for name, each in packages.items()]
    return "| package | licence |\n|---|---|\n" + "\n".join(rows) + "\n"
