"""How a pass over the rows is run: which blocks, in which order, on which threads. No algorithm code here."""
