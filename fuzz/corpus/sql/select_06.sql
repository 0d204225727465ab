select name, dur from a order by name, dur;
