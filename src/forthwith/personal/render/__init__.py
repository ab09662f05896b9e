"""From a draft to text: phrases, styles, layouts and buried documents, all a pure function of the draft."""
