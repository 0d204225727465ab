select name, max(dur) from a;
