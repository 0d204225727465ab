select name from a where name > 5;
