"""What mail servers and mail programs speak with a worker: SpamAssassin's protocol (spamd) and the milter protocol."""
