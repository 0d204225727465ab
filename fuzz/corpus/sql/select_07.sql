select sum(dur) filter (where k = 1), count(*) filter (where dur > 10) from a;
