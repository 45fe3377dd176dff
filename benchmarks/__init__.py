"""Programs that measure kedge against named rivals in the same run."""
