"""Comparisons of models that clients start over HTTP: each runs in a process of its own and keeps its state in files.

So the HTTP process can be replaced, for example by a reload, while a comparison runs. `priory.lab` does the comparing.
"""
