select id from a where not k = 1 order by id;
