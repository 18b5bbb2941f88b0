"""CETE (Laskar 2021, chapter 3): a question and a candidate answer, near each other or not."""
