"""HTML built from values, in which text from mail cannot become markup."""
