"""Bulk work on a Dask cluster: mail is read, and models are judged, by as many machines as there are.

What comes out is that of one process, bit for bit: what depends on order is done here, in order, and what does not is
done elsewhere. A worker may die at any time: what it had is done again by another.
"""

from priory.cluster.cluster import Cluster
from priory.cluster.errors import ClusterError
from priory.cluster.learning import read_ahead
from priory.cluster.opening import opened

__all__ = ["Cluster", "ClusterError", "opened", "read_ahead"]
