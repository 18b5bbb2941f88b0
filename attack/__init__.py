"""Campaigns that try to break wherefrom: killed processes, hostile files, damaged libraries, odd requests."""
