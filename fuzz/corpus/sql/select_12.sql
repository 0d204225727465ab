select cast(dur as text) || 'ns' from a where id = 1;
