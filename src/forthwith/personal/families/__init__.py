"""The seven kinds of question, one file each: from a user, a present and a plan to a fragment with its label."""
