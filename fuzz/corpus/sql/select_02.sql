select sum(k = 1), sum(dur > 10), avg(k=1) from a;
