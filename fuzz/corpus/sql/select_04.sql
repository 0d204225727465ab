select case k when 1 then 'one' when 2 then 2 else name end from a order by id;
