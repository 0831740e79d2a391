"""The workbench: judge any classifier honestly, and look at the result."""
