select max(name, 'b') from a where name is not null order by id;
