"""Published results as data, the runs that try to repeat them, and the two side by side.

One folder a document: `<slug>/table.toml` holds every number it reports, `<slug>/settings/*.toml` how we run a row.
A reported number is what the paper prints; a measured one comes from a saved run. Neither stands in for the other.
"""
