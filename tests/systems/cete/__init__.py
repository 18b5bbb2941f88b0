"""Tests of CETE."""
