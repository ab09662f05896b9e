"""The knowledge base: who the users are, what they said and did, which rules they live by. Knows no text of records."""
