select min(name), max(name) from a;
