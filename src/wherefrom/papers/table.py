"""The papers' tables, read from their files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

from wherefrom.errors import NotFound
from wherefrom.lab import REMEDY, LabMissing, lab_places
from wherefrom.papers.faults import TableFault, meant
from wherefrom.papers.measures import MEASURES, Scale


@dataclass(frozen=True, slots=True)
class Recipe:
    """How we run a row: a system, its settings, and how it is measured."""

    file: str
    system: str = ""  # of `systems/table.py`; none while the row waits for settings that do not exist
    measure: str = ""  # which of the system's ways to measure itself; "" for its usual one
    settings: Mapping[str, Any] = field(default_factory=dict)  # what differs from the system's defaults
    uses: Mapping[str, str] = field(default_factory=dict)  # part to the settings file that plays it
    planned: Mapping[str, object] = field(default_factory=dict)  # settings waited for, such as "qasa.patience"


@dataclass(frozen=True, slots=True)
class Row:
    """One published result, as its source prints it, and how we run it."""

    paper: str
    id: str
    table: str
    model: str
    dataset: str
    split: str
    scale: Scale
    reported: Mapping[str, Decimal]  # digits as printed: 0.950 stays 0.950
    tolerance: Mapping[str, float]  # for every reported measure, in the units it is printed in
    ours: bool  # meant to be run by wherefrom; prior work is not
    recipe: Recipe | None = None  # every row of ours has one
    group: str = ""  # the kind of question alone that is counted
    data: str = ""  # what we run it on instead, and what differs
    weights: str = ""  # which pretrained weights we begin from instead
    note: str = ""  # contradictions and gaps of the source

    @property
    def stands_in(self) -> bool:
        """Whether other data or other pretrained weights than the paper's are meant to be used."""
        return bool(self.data or self.weights)


@dataclass(frozen=True, slots=True)
class Paper:
    """One document (or one system of it), with every result it reports."""

    slug: str
    title: str
    authors: str
    system: str
    source: str
    rows: tuple[Row, ...]
    recipes: Mapping[str, Recipe] = field(default_factory=dict)  # settings files, those that no row names too

    def row(self, row_id: str) -> Row:
        """The row of that id; an unknown one suggests the nearest."""
        for row in self.rows:
            if row.id == row_id:
                return row
        guess = meant(row_id, (row.id for row in self.rows))
        raise NotFound(f"{self.slug} has no row '{row_id}'{guess or '; `wherefrom reproduce --list` shows them all'}")


SHELVES: list[Traversable] = [*lab_places("papers")]  # where papers are looked for, a folder each


def papers() -> list[Paper]:
    """Every paper, by slug."""
    return [load(folder) for _, folder in sorted(_folders().items())]


def paper(slug: str) -> Paper:
    """The paper of that slug; an unknown one suggests the nearest."""
    known = _folders()
    if slug not in known:
        raise NotFound(f"there is no paper '{slug}'{meant(slug, known) or '; there are ' + ', '.join(slugs())}")
    return load(known[slug])


def slugs() -> list[str]:
    """The papers' short names."""
    return sorted(_folders())


def _folders() -> dict[str, Traversable]:
    folders = {
        folder.name: folder for shelf in SHELVES for folder in shelf.iterdir() if (folder / "table.toml").is_file()
    }
    if not folders:
        raise LabMissing(f"the papers' tables are in the package wherefrom-lab: {REMEDY}")
    return folders


def load(folder: Traversable) -> Paper:
    """The paper in a folder: its table.toml and its settings files."""
    table = _Fields(_read(folder / "table.toml", f"{folder.name}/table.toml"), f"{folder.name}/table.toml")
    table.only("title", "authors", "system", "source", "scale", "stand_ins", "tolerance", "row")
    defaults = _Defaults(scale=_scale(table, "percent"), stand_ins=_stand_ins(table), tolerance=_tolerance(table))
    rows: list[Row] = []
    recipes: dict[str, Recipe] = {}
    for number, values in enumerate(table.tables("row"), start=1):
        row = _row(_Fields(values, f"{table.where}, row {values.get('id', number)}"), folder, defaults, recipes)
        if any(row.id == other.id for other in rows):
            raise TableFault(f"{table.where}, row {row.id}: id is taken by an earlier row")
        rows.append(row)
    if not rows:
        raise TableFault(f"{table.where}: row is missing; a paper has at least one")
    for file in (folder / "settings").iterdir() if (folder / "settings").is_dir() else ():
        recipes.setdefault(file.name, read_recipe(file, f"{folder.name}/settings/{file.name}"))
    return Paper(
        slug=folder.name,
        title=table.text("title"),
        authors=table.text("authors"),
        system=table.text("system"),
        source=table.text("source"),
        rows=tuple(rows),
        recipes=recipes,
    )


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What a table says once for all its rows."""

    scale: Scale
    stand_ins: Mapping[str, str]
    tolerance: Mapping[str, float]


_ROW = (
    "id",
    "table",
    "model",
    "dataset",
    "split",
    "group",
    "scale",
    "reported",
    "tolerance",
    "ours",
    "settings",
    "data",
    "weights",
    "note",
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # also a file name on every system


def _row(row: _Fields, folder: Traversable, defaults: _Defaults, recipes: dict[str, Recipe]) -> Row:
    row.only(*_ROW)
    row_id = row.text("id")
    if not _ID.fullmatch(row_id):
        raise row.fault("id", f"is kebab-case, such as t3-no-ranker, not {row_id!r}")
    scale = _scale(row, defaults.scale)
    reported = _reported(row, scale)
    ours = row.truth("ours")
    for name in ("settings", "data", "weights"):
        if not ours and row.has(name):
            raise row.fault(name, "belongs to rows that are ours to run; this one has ours = false")
    if ours and not row.has("settings"):
        raise row.fault("settings", "is missing; a row of ours names the file in settings/ that runs it")
    return Row(
        paper=folder.name,
        id=row_id,
        table=row.text("table"),
        model=row.text("model"),
        dataset=row.text("dataset"),
        split=row.text("split"),
        scale=scale,
        reported=reported,
        tolerance=_tolerances(row, reported, scale, defaults.tolerance),
        ours=ours,
        recipe=_recipe(row, folder, recipes) if ours else None,
        group=row.text("group", ""),
        data=_stand_in(row, "data", defaults.stand_ins),
        weights=_stand_in(row, "weights", defaults.stand_ins),
        note=row.text("note", ""),
    )


def _scale(fields: _Fields, default: Scale) -> Scale:
    given = fields.text("scale", default)
    for scale in get_args(Scale):
        if given == scale:
            return scale  # type: ignore[no-any-return]
    raise fields.fault("scale", f"is percent or fraction, not {given!r}{meant(given, get_args(Scale))}")


def _reported(row: _Fields, scale: Scale) -> dict[str, Decimal]:
    reported: dict[str, Decimal] = {}
    for name, value in row.table("reported").items():
        measure = MEASURES.get(name)
        if measure is None:
            raise row.fault(f"reported.{name}", f"is not a measure{meant(name, MEASURES)}")
        number = row.number(f"reported.{name}", value)
        # The likeliest slip of a typist: a percentage in a row of fractions.
        if measure.kind == "share" and not 0 <= number <= (100 if scale == "percent" else 1):
            raise row.fault(f"reported.{name}", f"cannot be {number} where the scale is {scale}")
        reported[name] = number
    if not reported:
        raise row.fault("reported", "is empty; it holds at least one number")
    return reported


def _tolerance(table: _Fields) -> dict[str, float]:
    """The file's own tolerances, by measure."""
    tolerance: dict[str, float] = {}
    for name, value in table.table("tolerance", {}).items():
        if name not in MEASURES:
            raise table.fault(f"tolerance.{name}", f"is not a measure{meant(name, MEASURES)}")
        tolerance[name] = table.tolerance(f"tolerance.{name}", value)
    return tolerance


def _tolerances(row: _Fields, reported: Iterable[str], scale: Scale, of_file: Mapping[str, float]) -> dict[str, float]:
    """Every reported measure's tolerance: the row's, else the file's, else the measure's own."""
    given = row.values.get("tolerance", {})
    own = given if isinstance(given, Mapping) else dict.fromkeys(reported, given)
    for name in own:
        if name not in reported:
            raise row.fault(f"tolerance.{name}", f"is for a measure that is not reported{meant(name, reported)}")
    points = {
        name: row.tolerance("tolerance", own[name]) if name in own else of_file.get(name, MEASURES[name].tolerance)
        for name in reported
    }
    return {name: MEASURES[name].tolerance_in(scale, value) for name, value in points.items()}


def _stand_ins(table: _Fields) -> dict[str, str]:
    """The sentences on other data and weights, by the short name that rows use."""
    sentences = table.table("stand_ins", {})
    for name, sentence in sentences.items():
        if not isinstance(sentence, str) or not sentence:
            raise table.fault(f"stand_ins.{name}", f"must be text, not {sentence!r}")
    return dict(sentences)


def _stand_in(row: _Fields, name: str, known: Mapping[str, str]) -> str:
    if not row.has(name):
        return ""
    given = row.text(name)
    if given not in known:
        raise row.fault(name, f"names no sentence of [stand_ins]: {given!r}{meant(given, known)}")
    return known[given]


def _recipe(row: _Fields, folder: Traversable, recipes: dict[str, Recipe]) -> Recipe:
    name = row.text("settings")
    if name not in recipes:
        file = folder / "settings" / name
        if "/" in name or not file.is_file():
            there = (other.name for other in (folder / "settings").iterdir()) if (folder / "settings").is_dir() else ()
            raise row.fault("settings", f"names no file of {folder.name}/settings: {name!r}{meant(name, there)}")
        recipes[name] = read_recipe(file, f"{folder.name}/settings/{name}")
    return recipes[name]


def read_recipe(file: Traversable, where: str) -> Recipe:
    """A settings file, behind those that its `base` names.

    `system` and `measure` say what is run, `settings` what differs from the system's defaults, `uses` which other files
    it needs, `planned` what is waited for.
    """
    fields = _Fields(_based(file, where), where)
    fields.only("system", "measure", "settings", "uses", "planned")
    planned: dict[str, object] = {}
    for section, settings in fields.table("planned", {}).items():
        if not isinstance(settings, dict):
            raise fields.fault(f"planned.{section}", "is a section of settings, not a value")
        planned.update({f"{section}.{name}": value for name, value in settings.items()})
    if not planned and not fields.has("system"):
        raise fields.fault("system", "is missing; it names what the row is run with")
    uses = fields.table("uses", {})
    for part, other in uses.items():
        if not isinstance(other, str):
            raise fields.fault(f"uses.{part}", f"names a settings file, not {other!r}")
    return Recipe(
        file=file.name,
        system=fields.text("system", ""),
        measure=fields.text("measure", ""),
        settings=fields.table("settings", {}),
        uses=uses,
        planned=planned,
    )


def _based(file: Traversable, where: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of a settings file, over those of its `base`."""
    values = dict(_read(file, where, parse_float=float))
    base = values.pop("base", None)
    if base is None:
        return values
    shelf = Path(str(file)).parent
    if not isinstance(base, str) or not (shelf / base).is_file():
        raise TableFault(f"{where}: base names no file beside it: {base!r}")
    if base in (*seen, file.name):
        raise TableFault(f"{where}: base leads back to {base}")
    return merged(_based(shelf / base, f"{where.rpartition('/')[0]}/{base}", (*seen, file.name)), values)


def merged(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables, those of `values` over those of `base`."""
    tables = {
        name: merged(base[name], value)
        for name, value in values.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **values, **tables}


def _read(file: Traversable, where: str, parse_float: Callable[[str], object] = Decimal) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=parse_float)
    except OSError as error:
        raise TableFault(f"{where}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableFault(f"{where}: is not TOML: {error}") from error


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of one TOML table, taken by type; `where` names the file and the row."""

    values: Mapping[str, Any]
    where: str

    def fault(self, name: str, problem: str) -> TableFault:
        return TableFault(f"{self.where}: {name} {problem}")

    def only(self, *known: str) -> None:
        for name in self.values:
            if name not in known:
                raise self.fault(name, f"is not a field{meant(name, known) or '; there are ' + ', '.join(known)}")

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str | None = None) -> str:
        value = self._value(name, default)
        if not isinstance(value, str):
            raise self.fault(name, f"must be text, not {value!r}")
        if not value and default != "":
            raise self.fault(name, "is empty")
        return value

    def truth(self, name: str) -> bool:
        value = self._value(name, None)
        if not isinstance(value, bool):
            raise self.fault(name, f"must be true or false, not {value!r}")
        return value

    def table(self, name: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        value = self._value(name, default)
        if not isinstance(value, Mapping):
            raise self.fault(name, f"must be a table, not {value!r}")
        return value

    def tables(self, name: str) -> list[Mapping[str, Any]]:
        value = self._value(name, None)
        if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
            raise self.fault(name, f"must be a list of tables, each begun with [[{name}]]")
        return value

    def number(self, name: str, value: object) -> Decimal:
        """A number as it is written: `value` is what TOML gave."""
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or not Decimal(value).is_finite():
            shown = str(value) if isinstance(value, Decimal) else repr(value)
            raise self.fault(name, f"must be a number, not {shown}")
        return Decimal(value)

    def tolerance(self, name: str, value: object) -> float:
        number = self.number(name, value)
        if number < 0:
            raise self.fault(name, f"must be at least 0, not {number}")
        return float(number)

    def _value(self, name: str, default: object) -> object:
        if name in self.values:
            return self.values[name]
        if default is None:
            raise self.fault(name, "is missing")
        return default
