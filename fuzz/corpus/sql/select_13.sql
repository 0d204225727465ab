select typeof(1 + 1), typeof(1 + 1.0), typeof('a' || 1), typeof(1 = 1), typeof(count(*)), typeof(avg(k)), typeof(sum(f)), typeof(max(name)) from a;
