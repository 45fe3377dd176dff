"""Instructions of the hot compiled routines on fixed problems: the same on an idle machine and on a busy one."""
