"""Comparisons of the workbench that the daemon is asked for: each in a process of its own, with all about it in files.

So the process that answers over HTTP can be replaced, by a reload say, while one is under way, and needs no memory for
it. What is judged, how, and what comes of it is `priory.lab`'s.
"""
