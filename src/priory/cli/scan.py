"""`priory scan`: what would change in folders of mail."""
