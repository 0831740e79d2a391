"""Bulk work: read and check many messages in batches, with local processes or a Dask cluster."""
