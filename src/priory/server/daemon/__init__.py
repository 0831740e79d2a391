"""The processes of the daemon: the master, its workers, and the thread in which a worker learns."""
