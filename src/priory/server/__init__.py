"""The daemon that `priory serve` runs, and the only part of Priory that listens on sockets or uses asyncio.

`daemon` has the processes: a master binds the listeners and forks workers, one per core. `protocols` speaks spamd and
milter, `http` the API, and `page` is the web page. `metrics` counts what they do, and `evaluation` runs comparisons of
the workbench in the background. These folders share the modules beside them. docs/decisions/serve.md gives the reasons.
"""
