select k, sum(dur) as s, sum(sum(dur)) over (order by k) as running from a group by k order by k;
