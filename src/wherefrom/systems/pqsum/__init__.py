"""PQSUM-WSL-DS: summaries of many documents around a query, learnt from weak references; as published."""
