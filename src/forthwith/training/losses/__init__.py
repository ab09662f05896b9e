"""Training objectives, one a file. Each takes logits over the options of Q questions and gives one loss a question."""

from forthwith.training.losses.binary import binary_term
from forthwith.training.losses.coherence import PlacedFamily, coherence_penalty
from forthwith.training.losses.listwise import listwise_cross_entropy
from forthwith.training.losses.ranked_probability import ranked_probability

__all__ = ["PlacedFamily", "binary_term", "coherence_penalty", "listwise_cross_entropy", "ranked_probability"]
