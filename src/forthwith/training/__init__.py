"""Training: records to token rows, packed batches, objectives, one visible loop, and exports. Stands beside the decision corridor."""
