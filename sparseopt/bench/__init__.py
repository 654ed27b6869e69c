"""Comparing backends on benchmark suites; see docs/benchmarking.md.

A suite says what is solved, by whom and how; :func:`run` solves it, each solve in a process of its
own, and keeps the records; :func:`frame` and the reports are made from the records alone.
"""
