select id, count(*) over () from a order by id limit 2;
