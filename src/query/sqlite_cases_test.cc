// SQL as SQLite's users write it, with the rows that SQLite itself gives (Debian's sqlite3 3.40 was
// asked once for each line below).

#include <gtest/gtest.h>

#include <memory>

#include "query/test_database.h"

namespace culprit::query {
namespace {

constexpr const char* kTables =
    "CREATE TABLE a(id INT, k INT, name TEXT, dur BIGINT, f DOUBLE);"
    "INSERT INTO a VALUES (1, 1, 'x', 10, 1.5), (2, 1, 'y', 30, 2.5), (3, 2, 'X', 20, NULL),"
    " (4, 2, NULL, -5, 0.25), (5, 3, 'main_thread', 7, 1e10);"
    "CREATE TABLE b(k INT, label TEXT);"
    "INSERT INTO b VALUES (1, 'one'), (2, 'two'), (4, 'four');";

struct Case {
  const char* sql;
  const char* rows;  // the names of the columns, then a line a row
};

constexpr Case kCases[] = {
    {"select 7/2, -7/2, 7/0, 7.0/2, 7/2.0, 1.5/0.5, 7e0/2, 7%0, -7%3",
     "7/2|-7/2|7/0|7.0/2|7/2.0|1.5/0.5|7e0/2|7%0|-7%3\n3|-3||3.5|3.5|3.0|3.5||-1"},
    {"select 0xFF, 0x10 + 1", "0xFF|0x10 + 1\n255|17"},
    {"select 'abc' not glob 'b*', 'abc' glob 'a*', 'abc' glob '*c', 'abc' glob '*b*', 'abc' glob "
     "'abc', 'abc' glob 'a?c', 'abc' glob '[^x]bc', 'a\\c' glob 'a\\*', 'ABC' glob 'abc'",
     "'abc' not glob 'b*'|'abc' glob 'a*'|'abc' glob '*c'|'abc' glob '*b*'|'abc' glob 'abc'|'abc' "
     "glob 'a?c'|'abc' glob '[^x]bc'|'a\\c' glob 'a\\*'|'ABC' glob 'abc'\n1|1|1|1|1|1|1|1|0"},
    {"select 'ABC' like 'abc', 'abc' like '%B%', 'abc' not like 'A_c', 'a%c' like 'a\\%c' escape "
     "'\\', 5 like '5', 'a:b' like '%:%'",
     "'ABC' like 'abc'|'abc' like '%B%'|'abc' not like 'A_c'|'a%c' like 'a\\%c' escape '\\'|5 like "
     "'5'|'a:b' like '%:%'\n1|1|0|1|1|1"},
    {"select 1 is 1, 1 is null, null is null, 1 is not 2, 1 is not null, 'a' is 'a'",
     "1 is 1|1 is null|null is null|1 is not 2|1 is not null|'a' is 'a'\n1|0|1|1|1|1"},
    {"select count(*), count(*) + 1, SUM(dur), sum( dur ) / 2, avg(dur), total(dur), min(dur), "
     "max(dur), typeof(sum(dur)), group_concat(k) from a",
     "count(*)|count(*) + 1|SUM(dur)|sum( dur ) / "
     "2|avg(dur)|total(dur)|min(dur)|max(dur)|typeof(sum(dur))|group_concat(k)\n5|6|62|31|12.4|62."
     "0|-5|30|integer|1,1,2,2,3"},
    {"select k, name, sum(dur) from a group by k",
     "k|name|sum(dur)\n1|x|40\n2|X|15\n3|main_thread|7"},
    {"select k, name, max(dur) from a group by k",
     "k|name|max(dur)\n1|y|30\n2|X|20\n3|main_thread|7"},
    {"select k, name, min(dur), count(*) from a group by k",
     "k|name|min(dur)|count(*)\n1|x|10|2\n2||-5|2\n3|main_thread|7|1"},
    {"select name, max(dur) from a", "name|max(dur)\ny|30"},
    {"select dur/10 as bucket, count(*) c from a group by bucket order by c desc, bucket",
     "bucket|c\n0|2\n1|1\n2|1\n3|1"},
    {"select a.k, label, sum(dur) s from a join b on a.k = b.k group by a.k",
     "k|label|s\n1|one|40\n2|two|15"},
    {"select k, label, count(*) from a join b using (k) group by k order by label",
     "k|label|count(*)\n1|one|2\n2|two|2"},
    {"select * from a join b using (k)",
     "id|k|name|dur|f|label\n1|1|x|10|1.5|one\n2|1|y|30|2.5|one\n3|2|X|20||two\n4|2||-5|0.25|two"},
    {"select a.* , b.label from a left join b on a.k=b.k where dur > 5 order by a.id",
     "id|k|name|dur|f|label\n1|1|x|10|1.5|one\n2|1|y|30|2.5|one\n3|2|X|20||two\n5|3|main_thread|7|"
     "10000000000.0|"},
    {"select name from a where name = \"x\"", "name\nx"},
    {"select name || '-' || k from a where k = '1'", "name || '-' || k\nx-1\ny-1"},
    {"select id, k = 1, dur > 10 as big, (k = 1) + (dur > 10), not k from a",
     "id|k = 1|big|(k = 1) + (dur > 10)|not "
     "k\n1|1|0|1|0\n2|1|1|2|0\n3|0|1|1|0\n4|0|0|0|0\n5|0|0|0|0"},
    {"select sum(k = 1), sum(dur > 10), avg(k=1) from a",
     "sum(k = 1)|sum(dur > 10)|avg(k=1)\n2|2|0.4"},
    {"select * from (select k = 1 as one, id from a) where one = 1", "one|id\n1|1\n1|2"},
    {"select max(1, 5, 3), min('b', 'a'), max(1, null), ifnull(null, 3), iif(1 > 2, 'a', 'b'), "
     "nullif(1,1), coalesce(null, 2)",
     "max(1, 5, 3)|min('b', 'a')|max(1, null)|ifnull(null, 3)|iif(1 > 2, 'a', "
     "'b')|nullif(1,1)|coalesce(null, 2)\n5|a||3|b||2"},
    {"select printf('%5d|%-5d|%05.1f|%s|%x|%c|%q|%%|%,d|%i|%u', 5, 6, 2.345, 'ab', 255, 'xyz', "
     "'it''s', 1234567, 3, 4), printf('%d', 2.7), printf('%s', 2.5), printf('%.3s|%5s', "
     "'abcdef','ab'), printf('%s',NULL), printf('%d',NULL), format('%d ms', 5)",
     "printf('%5d|%-5d|%05.1f|%s|%x|%c|%q|%%|%,d|%i|%u', 5, 6, 2.345, 'ab', 255, 'xyz', 'it''s', "
     "1234567, 3, 4)|printf('%d', 2.7)|printf('%s', 2.5)|printf('%.3s|%5s', "
     "'abcdef','ab')|printf('%s',NULL)|printf('%d',NULL)|format('%d ms', 5)\n    5|6    "
     "|002.3|ab|ff|x|it''s|%|1,234,567|3|4|2|2.5|abc|   ab||0|5 ms"},
    {"select round(2.5), round(2.345, 2), abs(-5), typeof(1), typeof(1.0), typeof('a'), "
     "typeof(null), typeof(1=1), typeof(5/2), typeof(k), typeof(f), typeof(name) from a where id = "
     "3",
     "round(2.5)|round(2.345, "
     "2)|abs(-5)|typeof(1)|typeof(1.0)|typeof('a')|typeof(null)|typeof(1=1)|typeof(5/"
     "2)|typeof(k)|typeof(f)|typeof(name)\n3.0|2.35|5|integer|real|text|null|integer|integer|"
     "integer|null|text"},
    {"select cast(2.7 as int), cast('12abc' as integer), cast('abc' as int), cast('3.5x' as real), "
     "cast(5 as text) || 'a', cast(-2.7 as int), cast('  7 ' as int), cast(null as int), "
     "typeof(cast(5 as real))",
     "cast(2.7 as int)|cast('12abc' as integer)|cast('abc' as int)|cast('3.5x' as real)|cast(5 as "
     "text) || 'a'|cast(-2.7 as int)|cast('  7 ' as int)|cast(null as int)|typeof(cast(5 as "
     "real))\n2|12|0|3.5|5a|-2|7||real"},
    {"select id from a limit -1", "id\n1\n2\n3\n4\n5"},
    {"select id from a limit 1, 2", "id\n2\n3"},
    {"select id from a limit 2 offset 1", "id\n2\n3"},
    {"select 1 union select 3 union select 2", "1\n1\n2\n3"},
    {"select k from a union all select k from b", "k\n1\n1\n2\n2\n3\n1\n2\n4"},
    {"select distinct k from a", "k\n1\n2\n3"},
    {"select k, (select label from b where b.k = a.k) as l from a order by id",
     "k|l\n1|one\n1|one\n2|two\n2|two\n3|"},
    {"select id, row_number() over (partition by k order by dur) rn, sum(dur) over (partition by "
     "k) s, lag(dur) over (order by id) p, lead(dur, 1, 0) over (order by id) n from a order by id",
     "id|rn|s|p|n\n1|1|40||30\n2|2|40|10|20\n3|2|15|30|-5\n4|1|15|20|7\n5|1|7|-5|0"},
    {"select k, sum(dur) from a group by 1 having sum(dur) > 10 order by 2 desc",
     "k|sum(dur)\n1|40\n2|15"},
    {"select k, count(*) n from a group by k having n > 1", "k|n\n1|2\n2|2"},
    {"select case k when 1 then 'one' when 2 then 2 else name end from a order by id",
     "case k when 1 then 'one' when 2 then 2 else name end\none\none\n2\n2\nmain_thread"},
    {"with recursive c(n) as (select 1 union all select n + 1 from c where n < 5) select sum(n), "
     "max(n) from c",
     "sum(n)|max(n)\n15|5"},
    {"with t as (select k, sum(dur) as total from a group by k) select t.k, total, label from t "
     "left join b using (k) order by total",
     "k|total|label\n3|7|\n2|15|two\n1|40|one"},
    {"select a.id, b.label from a, b where a.k = b.k and a.dur between 10 and 30 order by a.id",
     "id|label\n1|one\n2|one\n3|two"},
    {"select id from a where k in (1, 3) and name not in ('x')", "id\n2\n5"},
    {"select id from a where k in (select k from b) order by id desc", "id\n4\n3\n2\n1"},
    {"select exists(select 1 from a where k = 9), exists(select 1 from a)",
     "exists(select 1 from a where k = 9)|exists(select 1 from a)\n0|1"},
    {"select 2000000000 * 2, 3000000000, -2147483648 - 1, 1 << 40, 6 & 3, 6 | 1, ~5",
     "2000000000 * 2|3000000000|-2147483648 - 1|1 << 40|6 & 3|6 | "
     "1|~5\n4000000000|3000000000|-2147483649|1099511627776|2|7|-6"},
    {"select name from a where name > 5", "name\nx\ny\nX\nmain_thread"},
    {"select id from a where id = '3'", "id\n3"},
    {"select id from a where id = 'abc'", "id"},
    {"select id from a where name = 5", "id"},
    {"select column1, column2 from (values (1,'a'),(2,'b'))", "column1|column2\n1|a\n2|b"},
    {"select count(distinct k), count(distinct id) from a",
     "count(distinct k)|count(distinct id)\n3|5"},
    {"select a.id, c.label from a, b join b c on a.k = c.k where b.k = 1",
     "id|label\n1|one\n2|one\n3|two\n4|two"},
    {"select name, dur from a order by name, dur",
     "name|dur\n|-5\nX|20\nmain_thread|7\nx|10\ny|30"},
    {"select name from a order by dur desc limit 1", "name\ny"},
    {"select k as dur, sum(dur) as k from a group by k", "dur|k\n1|40\n2|15\n3|7"},
    {"select id, dur * 1.0 / 4, dur / 4.0, dur * 100 / 60 from a order by 1",
     "id|dur * 1.0 / 4|dur / 4.0|dur * 100 / "
     "60\n1|2.5|2.5|16\n2|7.5|7.5|50\n3|5.0|5.0|33\n4|-1.25|-1.25|-8\n5|1.75|1.75|11"},
    {"select strftime('%Y-%m-%d', 86400, 'unixepoch'), datetime(1000000000, 'unixepoch')",
     "strftime('%Y-%m-%d', 86400, 'unixepoch')|datetime(1000000000, "
     "'unixepoch')\n1970-01-02|2001-09-09 01:46:40"},
    {"select f, typeof(f), cast(f as int), f * 2 from a",
     "f|typeof(f)|cast(f as int)|f * "
     "2\n1.5|real|1|3.0\n2.5|real|2|5.0\n|null||\n0.25|real|0|0.5\n10000000000.0|real|10000000000|"
     "20000000000.0"},
    {"select id from a where name is not 'x'", "id\n2\n3\n4\n5"},
    {"select -id, +id, -(dur) from a where id < 3", "-id|+id|-(dur)\n-1|1|-10\n-2|2|-30"},
    {"select id from a where name notnull and name not null and f isnull", "id\n3"},
    {"select sum(dur) filter (where k = 1), count(*) filter (where dur > 10) from a",
     "sum(dur) filter (where k = 1)|count(*) filter (where dur > 10)\n40|2"},
    {"select name, sum(dur) over () from a where name is not null order by id",
     "name|sum(dur) over ()\nx|67\ny|67\nX|67\nmain_thread|67"},
    {"select k, k + 1 as k1, k1 from (select k, 5 as k1 from a) group by k",
     "k|k1|k1\n1|2|5\n2|3|5\n3|4|5"},
    {"select group_concat(name, ', ') from a where k = 1", "group_concat(name, ', ')\nx, y"},
    {"select lower(name), count(*) from a group by lower(name)",
     "lower(name)|count(*)\n|1\nmain_thread|1\nx|2\ny|1"},
    {"select lower(name) l, k, count(*) from a group by l, k order by l, k",
     "l|k|count(*)\n|2|1\nmain_thread|3|1\nx|1|1\nx|2|1\ny|1|1"},
    {"select a1.id, a2.id from a a1 left join a a2 on a1.id = a2.id + 1 order by a1.id",
     "id|id\n1|\n2|1\n3|2\n4|3\n5|4"},
    {"select t.k, sum(x) from (select k, dur as x from a union all select k, 100 from b) t group "
     "by t.k",
     "k|sum(x)\n1|140\n2|115\n3|7\n4|100"},
    {"select min(name), max(name) from a", "min(name)|max(name)\nX|y"},
    {"select k, min(dur), max(dur), name is null from a group by k",
     "k|min(dur)|max(dur)|name is null\n1|10|30|0\n2|-5|20|0\n3|7|7|0"},
    {"select 1 + null, null || 'a', sum(null), count(null)",
     "1 + null|null || 'a'|sum(null)|count(null)\n|||0"},
    {"select avg(k), sum(f), sum(dur) / count(*), sum(dur) * 1.0 / count(*) from a",
     "avg(k)|sum(f)|sum(dur) / count(*)|sum(dur) * 1.0 / count(*)\n1.8|10000000004.25|12|12.4"},
    {"select log(100), ln(1), sqrt(4), pow(2,3), exp(0), ceil(1.2), floor(1.8), sign(-3)",
     "log(100)|ln(1)|sqrt(4)|pow(2,3)|exp(0)|ceil(1.2)|floor(1.8)|sign(-3)\n2.0|0.0|2.0|8.0|1.0|2."
     "0|1.0|-1"},
    {"select id, name from a where name like 'x' order by id", "id|name\n1|x\n3|X"},
    {"select count() from a", "count()\n5"},
    {"select count(*) as n, max(dur) as m from a where k > 100", "n|m\n0|"},
    {"select k, group_concat(name) from a where name is not null group by k order by k",
     "k|group_concat(name)\n1|x,y\n2|X\n3|main_thread"},
    {"select id from a where not k = 1 order by id", "id\n3\n4\n5"},
    {"select id from a where not (k = 1) and dur != 20 order by id", "id\n4\n5"},
    {"select sum(dur) over (order by id rows between 1 preceding and current row) from a order by "
     "id",
     "sum(dur) over (order by id rows between 1 preceding and current row)\n10\n40\n50\n15\n2"},
    {"select id, dur from a where dur = (select max(dur) from a)", "id|dur\n2|30"},
    {"select a.id from a where exists (select 1 from b where b.k = a.k) order by 1",
     "id\n1\n2\n3\n4"},
    {"select (select count(*) from b where b.k <= a.k) as c, id from a order by id",
     "c|id\n1|1\n1|2\n2|3\n2|4\n2|5"},
    {"select id, case when dur > 10 then 'big' when dur > 0 then 'small' end as s from a order by "
     "id",
     "id|s\n1|small\n2|big\n3|big\n4|\n5|small"},
    {"select k, sum(case when dur > 10 then 1 else 0 end) as big, count(*) - sum(dur > 10) as rest "
     "from a group by k",
     "k|big|rest\n1|1|1\n2|1|1\n3|0|1"},
    {"select k % 2, count(*) from a group by k % 2", "k % 2|count(*)\n0|2\n1|3"},
    {"select k, count(*) from a group by k order by count(*) desc, k", "k|count(*)\n1|2\n2|2\n3|1"},
    {"select k, count(*) from a group by k having count(*) > 1 order by k", "k|count(*)\n1|2\n2|2"},
    {"select a.k, b.k from a left join b on b.k = a.k and b.label = 'one' order by a.id",
     "k|k\n1|1\n1|1\n2|\n2|\n3|"},
    {"select name, length(name) l from a where l > 1", "name|l\nmain_thread|11"},
    {"select ifnull(name, 'none') as n from a order by id", "n\nx\ny\nX\nnone\nmain_thread"},
    {"select coalesce(name, id) from a order by id", "coalesce(name, id)\nx\ny\nX\n4\nmain_thread"},
    {"select id || ':' || ifnull(name, '?') from a order by id",
     "id || ':' || ifnull(name, '?')\n1:x\n2:y\n3:X\n4:?\n5:main_thread"},
    {"select abs(dur), -dur, dur * -1 from a order by id",
     "abs(dur)|-dur|dur * -1\n10|-10|-10\n30|-30|-30\n20|-20|-20\n5|5|5\n7|-7|-7"},
    {"select min(dur, 15) from a order by id", "min(dur, 15)\n10\n15\n15\n-5\n7"},
    {"select max(name, 'b') from a where name is not null order by id",
     "max(name, 'b')\nx\ny\nb\nmain_thread"},
    {"select distinct k, name is null from a order by 1, 2", "k|name is null\n1|0\n2|0\n2|1\n3|0"},
    {"select k from a except select k from b", "k\n3"},
    {"select k from a intersect select k from b order by k", "k\n1\n2"},
    {"select k from a union select k from b order by k desc", "k\n4\n3\n2\n1"},
    {"select * from (select k, sum(dur) as d from a group by k) where d > 10 order by k",
     "k|d\n1|40\n2|15"},
    {"select x.k, x.d from (select k, sum(dur) as d from a group by k) x join b on b.k = x.k order "
     "by x.d",
     "k|d\n2|15\n1|40"},
    {"with m as (select max(dur) as top from a) select id from a, m where dur = top", "id\n2"},
    {"with recursive t(x) as (select 1 union all select x * 2 from t where x < 1000) select "
     "max(x), count(*) from t",
     "max(x)|count(*)\n1024|11"},
    {"select cast(dur as text) || 'ns' from a where id = 1", "cast(dur as text) || 'ns'\n10ns"},
    {"select cast(dur as float) / 4 from a where id = 1", "cast(dur as float) / 4\n2.5"},
    {"select cast(f as text) from a where id = 1", "cast(f as text)\n1.5"},
    {"select id from a order by name is null, name, id", "id\n3\n5\n1\n2\n4"},
    {"select id from a order by f desc, id", "id\n5\n2\n1\n4\n3"},
    {"select 'it''s' as q, \"x\"\"y\" from (select 1 as \"x\"\"y\")", "q|x\"y\nit's|1"},
    {"select -7 / 2, -7 % 2, 7 / -2, 7 % -2", "-7 / 2|-7 % 2|7 / -2|7 % -2\n-3|-1|-3|1"},
    {"select 1 in (1, 2), 'a' in ('b'), null in (1), 1 in (null, 1), 1 not in (2)",
     "1 in (1, 2)|'a' in ('b')|null in (1)|1 in (null, 1)|1 not in (2)\n1|0||1|1"},
    {"select typeof(1 + 1), typeof(1 + 1.0), typeof('a' || 1), typeof(1 = 1), typeof(count(*)), "
     "typeof(avg(k)), typeof(sum(f)), typeof(max(name)) from a",
     "typeof(1 + 1)|typeof(1 + 1.0)|typeof('a' || 1)|typeof(1 = "
     "1)|typeof(count(*))|typeof(avg(k))|typeof(sum(f))|typeof(max(name))\ninteger|real|text|"
     "integer|integer|real|real|text"},
    {"select trim('  a '), ltrim('xxa', 'x'), rtrim('axx', 'x'), replace('abc', 'b', 'X'), "
     "lower('ABC')",
     "trim('  a ')|ltrim('xxa', 'x')|rtrim('axx', 'x')|replace('abc', 'b', "
     "'X')|lower('ABC')\na|a|a|aXc|abc"},
    {"select substr(name, 1, 4) as p, count(*) from a where name is not null group by p order by p",
     "p|count(*)\nX|1\nmain|1\nx|1\ny|1"},
    {"select instr(name, '_') from a where id = 5", "instr(name, '_')\n5"},
    {"select printf('%.3f ms', dur / 1e3) from a where id = 1",
     "printf('%.3f ms', dur / 1e3)\n0.010 ms"},
    {"select printf('%08.3f', 3.14159), printf('%+d', 5), printf('%e', 12345.678), "
     "printf('%5s|%-5s|', 'a', 'b'), printf('%x', 255)",
     "printf('%08.3f', 3.14159)|printf('%+d', 5)|printf('%e', 12345.678)|printf('%5s|%-5s|', 'a', "
     "'b')|printf('%x', 255)\n0003.142|+5|1.234568e+04|    a|b    ||ff"},
    {"select round(dur / 3.0, 1), round(-2.5), round(2.5) from a where id = 1",
     "round(dur / 3.0, 1)|round(-2.5)|round(2.5)\n3.3|-3.0|3.0"},
    {"select id, rank() over (order by k), dense_rank() over (order by k), first_value(id) over "
     "(partition by k order by id) from a order by id",
     "id|rank() over (order by k)|dense_rank() over (order by k)|first_value(id) over (partition "
     "by k order by id)\n1|1|1|1\n2|1|1|1\n3|3|2|3\n4|3|2|3\n5|5|3|5"},
    {"select id, max(dur) over (partition by k) from a order by id",
     "id|max(dur) over (partition by k)\n1|30\n2|30\n3|20\n4|20\n5|7"},
    {"select id, count(*) over () from a order by id limit 2", "id|count(*) over ()\n1|5\n2|5"},
    {"select sum(d) from (select distinct dur as d from a)", "sum(d)\n62"},
    {"select count(distinct name) from a", "count(distinct name)\n4"},
    {"select avg(dur), avg(dur) filter (where k = 1) from a",
     "avg(dur)|avg(dur) filter (where k = 1)\n12.4|20.0"},
    {"select k, avg(dur) as m from a group by k order by m", "k|m\n3|7.0\n2|7.5\n1|20.0"},
    {"select (dur > 5) = (k = 1) from a order by id", "(dur > 5) = (k = 1)\n1\n1\n0\n1\n0"},
    {"select id from a where (k, dur) in (select 1, 10)", "id\n1"},
    {"select id from a where dur in (select dur from a where k = 1) order by id", "id\n1\n2"},
    {"select max(k), name from a where name glob 'm*'", "max(k)|name\n3|main_thread"},
    {"select min(id) as first, max(id) as last, last_k from (select id, k as last_k from a) group "
     "by last_k",
     "first|last|last_k\n1|2|1\n3|4|2\n5|5|3"},
    {"select name as n, count(*) as c from a group by n order by c desc, n limit 2",
     "n|c\n|1\nX|1"},
    {"select a.name as name, sum(dur) as total from a join b using (k) group by name order by "
     "total desc",
     "name|total\ny|30\nX|20\nx|10\n|-5"},
    {"select t.k as kk, t.name from a t where kk = 1 order by t.id", "kk|name\n1|x\n1|y"},
    {"select total(dur) / count(*), total(f) from a where k = 1",
     "total(dur) / count(*)|total(f)\n20.0|4.0"},
    {"select null = null, null is null, null is not null, 1 is not null, not null",
     "null = null|null is null|null is not null|1 is not null|not null\n|1|0|1|"},
    {"select 1 + '2', '3' * '4', 'abc' + 1, '5' - 2",
     "1 + '2'|'3' * '4'|'abc' + 1|'5' - 2\n3|12|1|3"},
    {"select 10 / 4 * 4, 10 / 4.0 * 4, 10 * 1.0 / 4, (10 + 5) / 2",
     "10 / 4 * 4|10 / 4.0 * 4|10 * 1.0 / 4|(10 + 5) / 2\n8|10.0|2.5|7"},
    {"select 9223372036854775807, -9223372036854775808, 9223372036854775807 - 1",
     "9223372036854775807|-9223372036854775808|9223372036854775807 - "
     "1\n9223372036854775807|-9223372036854775808|9223372036854775806"},
    {"select id as \"the id\", name as 'the name' from a where id = 1", "the id|the name\n1|x"},
    {"select all k from a where id = 1", "k\n1"},
    {"select k as a, k + 1 as b, a + b from (select 3 as k, 10 as a, 20 as b)",
     "a|b|a + b\n3|4|30"},
    {"select distinct name from a where name is not null order by lower(name), name",
     "name\nmain_thread\nX\nx\ny"},
    {"select sum(1), sum(1.5), sum(k) + 0.5 from a", "sum(1)|sum(1.5)|sum(k) + 0.5\n5|7.5|9.5"},
    {"select id from a where name = 'x' or name = 'X' collate nocase order by id", "id\n1\n3"},
    {"select ((select 1)), ((1 + 2) * 3)", "((select 1))|((1 + 2) * 3)\n1|9"},
    {"select 3 & 5, 3 | 4, 1 << 3, 256 >> 4, ~0", "3 & 5|3 | 4|1 << 3|256 >> 4|~0\n1|7|8|16|-1"},
    {"select id, lag(id) over (order by id), lag(id, 2, -1) over (order by id) from a order by id",
     "id|lag(id) over (order by id)|lag(id, 2, -1) over (order by "
     "id)\n1||-1\n2|1|-1\n3|2|1\n4|3|2\n5|4|3"},
    {"select k, sum(dur) as s, sum(sum(dur)) over (order by k) as running from a group by k order "
     "by k",
     "k|s|running\n1|40|40\n2|15|55\n3|7|62"},
    {"select iif(dur > 10, 'big', 'small') as size, count(*) from a group by size order by size",
     "size|count(*)\nbig|2\nsmall|3"},
    {"select nullif(dur, 10), nullif(name, 'x') from a where id = 1",
     "nullif(dur, 10)|nullif(name, 'x')\n|"},
    {"values (1, 'a'), (2, 'b')", "column1|column2\n1|a\n2|b"},
    {"select * from (values (1), (2)) order by 1 desc", "column1\n2\n1"},
    {"select hex(name), quote(name), unicode(name) from a where id = 1",
     "hex(name)|quote(name)|unicode(name)\n78|'x'|120"},
    {"select id from a where id > 1 and id < 4 order by id desc limit 1 offset 1", "id\n2"},
    {"select group_concat(distinct k) from a where k < 3 and id in (1,3)",
     "group_concat(distinct k)\n1,2"},
    {"select strftime('%H:%M', 3600, 'unixepoch')", "strftime('%H:%M', 3600, 'unixepoch')\n01:00"},
    {"select count(*) from a, b", "count(*)\n15"},
    {"select count(*) from a natural join b", "count(*)\n4"},
    {"select cast('1e3' as real), cast('abc' as real), cast(1.9 as integer), cast(-1.9 as "
     "integer), cast('1.9' as integer)",
     "cast('1e3' as real)|cast('abc' as real)|cast(1.9 as integer)|cast(-1.9 as "
     "integer)|cast('1.9' as integer)\n1000.0|0.0|1|-1|1"},
    {"select sum(dur) from a group by k having k = 1", "sum(dur)\n40"},
    {"select k from a group by k having max(dur) > 10", "k\n1\n2"},
    {"select exists (select 1 from a where id = 1) + 1",
     "exists (select 1 from a where id = 1) + 1\n2"},
    {"select not 5, not 0, -(-3), +4", "not 5|not 0|-(-3)|+4\n0|1|3|4"},
    {"select 'a' < 'B', 'a' < 'b', 'Z' < 'a'", "'a' < 'B'|'a' < 'b'|'Z' < 'a'\n0|1|1"},
    {"select id from a where f > dur order by id", "id\n4\n5"},
    {"select min(f), max(f) from a", "min(f)|max(f)\n0.25|10000000000.0"},
    {"select max(f) - min(f) > 5 from a", "max(f) - min(f) > 5\n1"},
};

class SqliteHabits : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { database_ = std::make_unique<TestDatabase>(kTables); }
  static void TearDownTestSuite() { database_.reset(); }
  static inline std::unique_ptr<TestDatabase> database_;
};

TEST_P(SqliteHabits, GiveTheRowsOfSqlite) {
  EXPECT_EQ(database_->Rows(GetParam().sql), GetParam().rows) << GetParam().sql;
}

INSTANTIATE_TEST_SUITE_P(All, SqliteHabits, testing::ValuesIn(kCases));

}  // namespace
}  // namespace culprit::query
