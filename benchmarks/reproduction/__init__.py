"""Programs about the paper itself: where its text, its tables and the authors' programs disagree."""
