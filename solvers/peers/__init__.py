"""Other people's solvers, to compare with: each in a process of its own, on the same data.

They are ordinary backends of the extra ``peers``, last in the registry, so that ``backend="auto"``
never takes one. What they claim is checked like every answer.
"""
