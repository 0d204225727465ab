select id from a limit 1, 2;
