select count(*) from a, b;
