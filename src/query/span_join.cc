#include "query/span_join.h"

#include <fmt/format.h>

#include <algorithm>

namespace culprit::query {
namespace {

// Beyond every timestamp; where an interval without a begin or an end begins or ends.
constexpr const char* kForever = "4611686018427387904";

// The names that a side has within the query.
struct Side {
  std::string letter;                // "l", "r"
  std::string table;                 // quoted
  std::string partition;             // quoted, empty when it has none
  std::vector<std::string> columns;  // quoted, those beside ts, dur and the partition
};

Result<Side> ReadSide(Catalog& catalog, const SpanTable& table, const std::string& letter) {
  const Columns* columns = catalog.Find(QuoteName(table.name));
  if (columns == nullptr) return Error{"SPAN_JOIN: no table \"" + table.name + "\"", ""};
  const auto find = [&](std::string_view name) {
    return std::find_if(columns->begin(), columns->end(),
                        [&](const Column& column) { return EqualsIgnoreCase(column.name, name); });
  };
  Side side{letter, QuoteName(table.name), "", {}};
  for (const char* needed : {"ts", "dur"}) {
    if (find(needed) == columns->end()) {
      return Error{fmt::format("SPAN_JOIN: table \"{}\" has no column {}", table.name, needed), ""};
    }
  }
  if (!table.partition.empty()) {
    const auto partition = find(table.partition);
    if (partition == columns->end()) {
      return Error{fmt::format("SPAN_JOIN: table \"{}\" has no column {} to be partitioned by",
                               table.name, table.partition),
                   ""};
    }
    side.partition = QuoteName(partition->name);
  }
  for (const Column& column : *columns) {
    const bool is_known = EqualsIgnoreCase(column.name, "ts") ||
                          EqualsIgnoreCase(column.name, "dur") ||
                          EqualsIgnoreCase(column.name, table.partition);
    if (!is_known) side.columns.push_back(QuoteName(column.name));
  }
  return side;
}

std::string Payload(const Side& side, std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < side.columns.size(); ++i) {
    out += fmt::format(fmt::runtime(pattern), fmt::arg("column", side.columns[i]),
                       fmt::arg("name", side.letter + std::to_string(i)));
  }
  return out;
}

// <letter>0: every interval as [s, e), r = ts + dur even for dur -1, p the partition.
std::string Intervals(const Side& side, const Side& other) {
  const std::string partition = side.partition.empty() ? "0" : side.partition;
  std::string sql = fmt::format(
      "{0}0 AS (SELECT ts AS s, ts + greatest(coalesce(dur, 0), 0) AS e, ts + coalesce(dur, 0) AS "
      "r, "
      "{1} AS p, true AS is_real{2} FROM {3})",
      side.letter, partition, Payload(side, ", {column} AS {name}"), side.table);
  if (side.partition.empty() && !other.partition.empty()) {
    // One table without partitions holds for each partition of the other.
    sql = fmt::format(
        "{0}0 AS (SELECT ts AS s, ts + greatest(coalesce(dur, 0), 0) AS e, ts + coalesce(dur, 0) "
        "AS "
        "r, part.p, true AS is_real{1} FROM {2} CROSS JOIN (SELECT DISTINCT {3} AS p FROM {4}) AS "
        "part)",
        side.letter, Payload(side, ", {column} AS {name}"), side.table, other.partition,
        other.table);
  }
  return sql;
}

// <letter>1: those that last, and where asked the gaps between them; <letter>2: the instants.
std::string Spans(const Side& side, const Side& other, bool with_gaps) {
  const std::string& l = side.letter;
  std::string sql = fmt::format("{0}1 AS (SELECT * FROM {0}0 WHERE e > s", l);
  if (with_gaps) {
    const std::string nulls = Payload(side, ", NULL");
    sql += fmt::format(
        " UNION ALL SELECT g.b, g.s, g.s, g.p, false{1} FROM (SELECT p, s, coalesce(max(e) OVER "
        "(PARTITION BY p ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -{2}) AS "
        "b "
        "FROM {0}0) AS g WHERE g.b < g.s"
        " UNION ALL SELECT max(e), {2}, {2}, p, false{1} FROM {0}0 GROUP BY p",
        l, nulls, kForever);
    // A partition that this side lacks is one gap.
    if (!side.partition.empty() && !other.partition.empty()) {
      sql += fmt::format(
          " UNION ALL SELECT -{2}, {2}, {2}, m.p, false{1} FROM (SELECT DISTINCT p FROM {3}0 "
          "EXCEPT "
          "SELECT DISTINCT p FROM {0}0) AS m",
          l, nulls, kForever, other.letter);
    }
  }
  return sql + fmt::format("), {0}2 AS (SELECT * FROM {0}0 WHERE e <= s)", l);
}

}  // namespace

Result<std::string> SpanJoinQuery(Catalog& catalog, SpanJoinKind kind, const SpanTable& left,
                                  const SpanTable& right) {
  CULPRIT_ASSIGN(const Side l, ReadSide(catalog, left, "l"));
  CULPRIT_ASSIGN(const Side r, ReadSide(catalog, right, "r"));
  if (!l.partition.empty() && !r.partition.empty() && !EqualsIgnoreCase(l.partition, r.partition)) {
    return Error{fmt::format("SPAN_JOIN: {} is partitioned by {}, {} by {}", left.name,
                             left.partition, right.name, right.partition),
                 "partition both by one column"};
  }
  for (const std::string& column : l.columns) {
    if (std::find(r.columns.begin(), r.columns.end(), column) != r.columns.end()) {
      return Error{
          fmt::format("SPAN_JOIN: both {} and {} have a column {}", left.name, right.name, column),
          "name one of them otherwise in a view"};
    }
  }
  const std::string partition = l.partition.empty() ? r.partition : l.partition;
  const std::string columns = Payload(l, ", l.{name}") + Payload(r, ", r.{name}");
  // `start` is the later begin; the other side covers it.
  const auto rows = [&](std::string_view start, std::string_view from) {
    return fmt::format("SELECT {0}.s AS s, least(l.r, r.r) - {0}.s AS d, {0}.p AS p{1} FROM {2}",
                       start, columns, from);
  };
  const auto instants = [&](std::string_view start, std::string_view other) {
    return rows(
        start, fmt::format("{0}2 AS {0} ASOF JOIN {1}1 AS {1} ON {0}.p = {1}.p AND {0}.s >= {1}.s "
                           "WHERE {0}.s < {1}.e AND ({1}.is_real OR NOT EXISTS (SELECT 1 FROM {1}2 "
                           "AS i WHERE i.p = {0}.p AND i.s = {0}.s))",
                           start, other));
  };
  std::string sql = "WITH " + Intervals(l, r) + ", " + Intervals(r, l) + ", " +
                    Spans(l, r, kind == SpanJoinKind::kOuter) + ", " +
                    Spans(r, l, kind != SpanJoinKind::kInner) + ", every AS (";
  sql += rows(
      "r",
      "r1 AS r ASOF JOIN l1 AS l ON l.p = r.p AND r.s >= l.s WHERE r.s < l.e AND (l.is_real OR "
      "r.is_real)");
  sql += " UNION ALL " +
         rows("l",
              "l1 AS l ASOF JOIN r1 AS r ON l.p = r.p AND l.s > r.s WHERE l.s < r.e AND "
              "(l.is_real OR r.is_real)");
  sql += " UNION ALL " + instants("l", "r") + " UNION ALL " + instants("r", "l");
  sql += " UNION ALL " + rows("l", "l2 AS l JOIN r2 AS r ON l.p = r.p AND l.s = r.s");
  sql += ") SELECT s AS ts, d AS dur";
  if (!partition.empty()) sql += ", p AS " + partition;
  sql += Payload(l, ", {name} AS {column}") + Payload(r, ", {name} AS {column}");
  return sql + " FROM every ORDER BY p, s, d";
}

}  // namespace culprit::query
