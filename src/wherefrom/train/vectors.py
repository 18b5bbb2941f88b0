"""Word vectors made narrower."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

Numbers = NDArray[Any]


def principal_components(table: Numbers, width: int, reach: float) -> Numbers:
    """The rows, centred, along their `width` widest directions, scaled to a root mean square of `reach`."""
    centred = table - table.mean(0)
    _, directions = numpy.linalg.eigh(centred.T @ centred)  # from the narrowest on
    widest = directions[:, ::-1][:, :width]
    signs = numpy.sign(widest[numpy.abs(widest).argmax(0), numpy.arange(widest.shape[1])])  # the same on every machine
    turned = centred @ (widest * signs)
    scaled: Numbers = turned * (reach / numpy.sqrt((turned**2).mean()))
    return scaled.astype(numpy.float32)
