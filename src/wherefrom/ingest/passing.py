"""Which files in a folder are passed over, and why."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from wherefrom.config import IngestSettings
from wherefrom.ingest.source import PACKED_SUFFIXES

_SHOWN = 4  # suffixes of a sort


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Files of one sort that are in the folders and were not read."""

    sort: str  # what people call them: pictures
    files: int
    suffixes: tuple[str, ...]  # the commonest of them
    remedy: str = ""  # how to have them read, where that is possible


# What people call files of kinds that are not read, by their suffixes.
_SORTS = {
    suffix: sort
    for sort, suffixes in {
        "pictures": "png jpg jpeg gif svg svgz webp bmp tif tiff ico psd heic avif eps xcf icns ppm pgm pbm",
        "sound and video": "mp3 wav ogg oga flac m4a aac mid midi mp4 mov avi mkv webm m4v mpg ogv",
        "archives": "zip tar gz tgz bz2 tbz xz txz zst 7z rar whl jar war deb rpm egg iso dmg crate gem",
        "fonts": "ttf otf woff woff2 eot pfb pfm afm",
        "programs and their parts": "exe dll so o a obj lib pyc pyo pyd class wasm node bin dylib elc mo qm",
        "data": "xml xsd xsl npy npz parquet feather h5 hdf5 db sqlite sqlite3 pkl pickle dat mat nc arff rda "
                "rds sas7bdat dta sav msgpack avro orc geojson kml gpx ics vcf bib rdf ttl json5 lock",
        "style sheets": "css scss sass less styl",
        "maps of generated code": "map",
        "translations": "po pot ts_ xlf xliff arb",
        "logs": "log",
        "older Office files": "doc dot xls xlt ppt pps msg pst pub vsd wpd wps one",
        "templates": "in tmpl tpl j2 jinja jinja2 mustache hbs ejs erb pug jade liquid",
        "build files": "cmake mk mak am ac m4 gradle sbt bazel bzl build pro pri gyp gypi nix spec",
        "keys and certificates": "pem crt cer key csr p12 pfx asc sig gpg der jks",
        "patches": "patch diff rej orig",
    }.items()
    for suffix in suffixes.split()
}  # fmt: skip
_REMEDIES = {
    "older Office files": "save them as docx, or as pdf",
    "source code": "ingest.code=true reads it",
    "configuration": "ingest.configuration=true reads it",
}
_KINDS = {  # kinds that can be read, and are not where nobody wants them
    "code": "source code",
    "generated": "generated code",
    "configuration": "configuration",
    "link": "pages that only name another page",
}
_OTHERS = "files of other kinds"
_NOT_WANTED = "files of formats that ingest.formats leaves out"
_SKIPPED = "files that ingest.skip names"


class Passing:
    """Decides for each file of a folder whether it is read, and counts those that are not."""

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._skip = re.compile("|".join(map(_pattern, settings.skip))) if settings.skip else None
        self._suffixes: dict[str, Counter[str]] = {}
        self._skipped: Counter[str] = Counter()

    def by_name(self, name: str) -> bool:
        """Whether a file is passed over for its name, a path below the folder; it is then counted."""
        if self._skip is None or (match := self._skip.fullmatch(name)) is None:
            return False
        self._skipped[self._settings.skip[(match.lastindex or 1) - 1]] += 1
        return True

    def by_kind(self, name: str, kind: str | None) -> bool:
        """Whether a file is passed over for what it is; None is a kind that cannot be read."""
        sort = self._sort(name, kind)
        if sort:
            self._suffixes.setdefault(sort, Counter())[_suffix(name)] += 1
        return bool(sort)

    def report(self) -> tuple[PassedOver, ...]:
        """What was passed over, the commonest sort first."""
        sorts = [
            PassedOver(sort, counts.total(), _commonest(counts), _REMEDIES.get(sort, ""))
            for sort, counts in self._suffixes.items()
        ]
        if self._skipped:
            sorts.append(PassedOver(_SKIPPED, self._skipped.total(), _commonest(self._skipped)))
        return tuple(sorted(sorts, key=lambda each: (-each.files, each.sort)))

    def _sort(self, name: str, kind: str | None) -> str:
        settings = self._settings
        if kind is None:
            return _SORTS.get(_suffix(name).removeprefix("."), _OTHERS)
        if kind == "link" or (kind == "generated" and "code" not in settings.formats):
            return _KINDS[kind]
        if settings.formats:
            return "" if kind in settings.formats else _KINDS.get(kind, _NOT_WANTED)
        wanted = settings.configuration if kind == "configuration" else settings.code if kind == "code" else True
        return "" if wanted else _KINDS[kind]


def _pattern(glob: str) -> str:
    """A glob as an expression for paths: it names a file or a folder, wherever it is, and all that is in it."""
    parts = [fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z") for part in glob.strip("/").split("/")]
    inside = "/".join(part.replace(".*", "[^/]*") for part in parts)
    return rf"((?:.*/)?{inside}(?:/.*)?)"


def _commonest(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(each for each, _ in counts.most_common(_SHOWN) if each)


def _suffix(name: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if len(suffixes) > 1 and suffixes[-1] in PACKED_SUFFIXES and suffixes[-2].removeprefix(".") not in ("tar",):
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    return suffix if len(suffix) <= 12 and not re.search(r"\s", suffix) else ""


def passed_over_lines(passed: Sequence[PassedOver]) -> Iterable[str]:
    """A line a sort, for people."""
    width = max((len(f"{each.files:,}") for each in passed), default=0)
    for each in passed:
        which = f" ({', '.join(each.suffixes)})" if each.suffixes else ""
        yield f"{each.files:>{width},} {each.sort}{which}{': ' + each.remedy if each.remedy else ''}"
