"""RankQA: candidate answers in a better order (Kratzwald et al. 2019)."""
