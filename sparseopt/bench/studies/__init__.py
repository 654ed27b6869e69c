"""The studies that come with the package: a module each, called like its study.

A study is a protocol that a suite cannot express. To add one: a module here, or in the room of a
family below, that ends in ``STUDY = Study(...)``; runner, records and report are those of suites.
Modules whose names begin with an underscore hold what several studies share.
"""
