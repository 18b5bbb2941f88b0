"""Tests of QASA."""
