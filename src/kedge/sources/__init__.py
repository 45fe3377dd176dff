"""Where rows come from: blocks of the views, scaled on the way."""
