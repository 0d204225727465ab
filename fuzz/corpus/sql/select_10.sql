select k, count(*) from a group by k order by count(*) desc, k;
