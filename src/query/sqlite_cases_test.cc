// SQL as SQLite's users write it, with the rows that SQLite itself gives (Debian's sqlite3 3.40 was
// asked once for each line below; a REAL that is whole is written without its ".0" here).

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
     "7/2|-7/2|7/0|7.0/2|7/2.0|1.5/0.5|7e0/2|7%0|-7%3\n3|-3||3.5|3.5|3|3.5||-1"},
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
     "2|avg(dur)|total(dur)|min(dur)|max(dur)|typeof(sum(dur))|group_concat(k)\n5|6|62|31|12.4|62|-"
     "5|30|integer|1,1,2,2,3"},
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
     "10000000000|"},
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
     "2)|typeof(k)|typeof(f)|typeof(name)\n3|2.35|5|integer|real|text|null|integer|integer|integer|"
     "null|text"},
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
     "60\n1|2.5|2.5|16\n2|7.5|7.5|50\n3|5|5|33\n4|-1.25|-1.25|-8\n5|1.75|1.75|11"},
    {"select strftime('%Y-%m-%d', 86400, 'unixepoch'), datetime(1000000000, 'unixepoch')",
     "strftime('%Y-%m-%d', 86400, 'unixepoch')|datetime(1000000000, "
     "'unixepoch')\n1970-01-02|2001-09-09 01:46:40"},
    {"select f, typeof(f), cast(f as int), f * 2 from a",
     "f|typeof(f)|cast(f as int)|f * "
     "2\n1.5|real|1|3\n2.5|real|2|5\n|null||\n0.25|real|0|0.5\n10000000000|real|10000000000|"
     "20000000000"},
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
     "log(100)|ln(1)|sqrt(4)|pow(2,3)|exp(0)|ceil(1.2)|floor(1.8)|sign(-3)\n2|0|2|8|1|2|1|-1"},
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
