select id from a where f > dur order by id;
