"""Ways to evaluate models: by folds, in the order of arrival, by leaving out one message, or one kind of feature."""
