"""Compiled tables and kernels that more than one layer uses."""
