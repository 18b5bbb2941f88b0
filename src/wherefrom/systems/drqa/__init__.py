"""DrQA's reader (Chen et al. 2017)."""
