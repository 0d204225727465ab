select id as "the id", name as 'the name' from a where id = 1;
