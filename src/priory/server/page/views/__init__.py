"""The views of the page, one module per view or large part of one."""
