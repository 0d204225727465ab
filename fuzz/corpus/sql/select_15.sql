select min(id) as first, max(id) as last, last_k from (select id, k as last_k from a) group by last_k;
