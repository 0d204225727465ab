#include "query/perfetto_sql.h"

#include <algorithm>
#include <array>

namespace culprit::query {
namespace {

using Kind = PerfettoStatement::Kind;

struct TypeName {
  std::string_view name;
  Type type;
};
constexpr std::array kTypes = {
    TypeName{"LONG", Type::kBigint},      TypeName{"INT", Type::kBigint},
    TypeName{"INTEGER", Type::kBigint},   TypeName{"BIGINT", Type::kBigint},
    TypeName{"UINT", Type::kBigint},      TypeName{"ID", Type::kBigint},
    TypeName{"JOINID", Type::kBigint},    TypeName{"ARGSETID", Type::kBigint},
    TypeName{"TIMESTAMP", Type::kBigint}, TypeName{"DURATION", Type::kBigint},
    TypeName{"DOUBLE", Type::kReal},      TypeName{"FLOAT", Type::kReal},
    TypeName{"REAL", Type::kReal},        TypeName{"STRING", Type::kText},
    TypeName{"TEXT", Type::kText},        TypeName{"VARCHAR", Type::kText},
    TypeName{"BOOL", Type::kBool},        TypeName{"BOOLEAN", Type::kBool},
    TypeName{"BYTES", Type::kBlob},       TypeName{"BLOB", Type::kBlob},
    TypeName{"PROTO", Type::kBlob},       TypeName{"ANY", Type::kUnknown}};

// Walks the tokens of one statement; after the first thing that is missing, nothing is read.
class Parser {
 public:
  Parser(const Tokens& tokens, std::optional<tables::SqlError>& error)
      : tokens_(tokens), error_(error) {}

  bool failed() const { return error_.has_value(); }
  bool AtEnd() const { return at_ >= tokens_.size(); }
  std::size_t Place() const {
    if (!AtEnd()) return tokens_[at_].source;
    return tokens_.empty() ? 0 : tokens_.back().source + tokens_.back().text.size();
  }

  bool Accept(std::string_view word) {
    if (failed() || AtEnd()) return false;
    const bool is_symbol = word.size() == 1 && !(word[0] >= 'A' && word[0] <= 'Z');
    if (is_symbol ? !tokens_[at_].IsSymbol(word) : !tokens_[at_].Is(word)) return false;
    ++at_;
    return true;
  }
  void Expect(std::string_view word) {
    if (!Accept(word)) Fail("expected " + std::string(word));
  }
  void Fail(std::string message) {
    if (!failed()) error_ = tables::SqlError{"Parser", std::move(message), Place()};
  }
  std::string Name(std::string_view what) {
    if (failed()) return "";
    if (AtEnd() ||
        (tokens_[at_].kind != TokenKind::kWord && tokens_[at_].kind != TokenKind::kQuoted)) {
      Fail("expected " + std::string(what));
      return "";
    }
    return tokens_[at_++].Name();
  }
  // "LONG", "JOINID(thread.id)", "ColumnName".
  std::string TypeNameHere() {
    std::string name = Name("a type");
    if (Accept("(")) {
      while (!failed() && !Accept(")")) {
        if (AtEnd()) return Fail("expected )"), "";
        ++at_;
      }
    }
    return name;
  }
  // "(a LONG, b STRING)"; types of macros mean nothing to us.
  Columns Declarations(bool are_values) {
    Columns columns;
    Expect("(");
    if (Accept(")")) return columns;
    do {
      Column column;
      column.name = Name("a name");
      const std::size_t place = Place();
      const std::string type = TypeNameHere();
      if (are_values && !failed() &&
          std::none_of(kTypes.begin(), kTypes.end(),
                       [&](const TypeName& t) { return EqualsIgnoreCase(t.name, type); })) {
        error_ = tables::SqlError{
            "Parser",
            "no type \"" + type +
                "\" in PerfettoSQL\nTypes: LONG, DOUBLE, "
                "BOOLEAN, STRING, BYTES, TIMESTAMP, DURATION, ARGSETID, ID, JOINID",
            place};
      }
      column.type = TypeOfPerfetto(type);
      columns.push_back(std::move(column));
    } while (Accept(","));
    Expect(")");
    return columns;
  }
  Tokens Rest() {
    if (failed()) return {};
    if (AtEnd()) Fail("expected a query");
    Tokens rest(tokens_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, tokens_.size())),
                tokens_.end());
    at_ = tokens_.size();
    return rest;
  }
  // "linux.cpu.*".
  std::string ModuleName() {
    std::string name;
    while (!failed() && !AtEnd()) name += tokens_[at_++].Name();
    if (name.empty()) Fail("expected the name of a module");
    return name;
  }

 private:
  const Tokens& tokens_;
  std::optional<tables::SqlError>& error_;
  std::size_t at_ = 0;
};

void ParseCreate(Parser& parser, PerfettoStatement& statement) {
  const auto name = [&] {
    statement.name_offset = parser.Place();
    statement.name = parser.Name("a name");
  };
  if (parser.Accept("TABLE") || parser.Accept("VIEW")) {
    name();
    // The schema, unless it is the query at once.
    if (!parser.Accept("AS")) {
      statement.columns = parser.Declarations(true);
      parser.Expect("AS");
    }
    statement.body = parser.Rest();
  } else if (parser.Accept("FUNCTION")) {
    statement.kind = Kind::kFunction;
    name();
    statement.parameters = parser.Declarations(true);
    parser.Expect("RETURNS");
    if (parser.Accept("TABLE")) {
      statement.returns_table = true;
      statement.columns = parser.Declarations(true);
    } else {
      const std::size_t place = parser.Place();
      const std::string type = parser.TypeNameHere();
      statement.result = TypeOfPerfetto(type);
      static_cast<void>(place);
    }
    parser.Expect("AS");
    statement.body = parser.Rest();
  } else if (parser.Accept("MACRO")) {
    statement.kind = Kind::kMacro;
    name();
    statement.parameters = parser.Declarations(false);
    parser.Expect("RETURNS");
    parser.TypeNameHere();
    parser.Expect("AS");
    statement.body = parser.Rest();
  } else if (parser.Accept("INDEX")) {
    statement.kind = Kind::kIndex;
    parser.Name("a name");
    parser.Expect("ON");
    name();
    parser.Expect("(");
    do {
      parser.Name("a column");
    } while (parser.Accept(","));
    parser.Expect(")");
  } else {
    parser.Fail("expected TABLE, VIEW, FUNCTION, MACRO or INDEX");
  }
}

SpanTable ParseSpanTable(Parser& parser) {
  SpanTable table;
  table.name = parser.Name("a table");
  if (parser.Accept("PARTITIONED")) table.partition = parser.Name("a column");
  return table;
}

}  // namespace

Type TypeOfPerfetto(std::string_view name) {
  const auto it = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& type) {
    return EqualsIgnoreCase(type.name, name);
  });
  return it == kTypes.end() ? Type::kUnknown : it->type;
}

std::string_view DuckdbType(Type type) {
  switch (type) {
    case Type::kNarrow:
    case Type::kBigint:
    case Type::kWide:
      return "BIGINT";
    case Type::kReal:
      return "DOUBLE";
    case Type::kText:
    case Type::kEnum:
      return "VARCHAR";
    case Type::kBool:
      return "BOOLEAN";
    default:
      return "";
  }
}

std::optional<PerfettoStatement> ParsePerfetto(const Tokens& tokens,
                                               std::optional<tables::SqlError>& error) {
  PerfettoStatement statement;
  Parser parser(tokens, error);
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < tokens.size() && tokens[i].Is(word);
  };
  if (is(0, "INCLUDE") && is(1, "PERFETTO")) {
    parser.Accept("INCLUDE");
    parser.Accept("PERFETTO");
    parser.Expect("MODULE");
    statement.name_offset = parser.Place();
    statement.name = parser.ModuleName();
    return statement;
  }
  if (is(0, "SELECT") && is(1, "RUN_METRIC")) {
    statement.kind = Kind::kRunMetric;
    statement.name_offset = tokens[1].source;
    return statement;
  }
  if (is(0, "DROP") && is(1, "PERFETTO")) {
    parser.Accept("DROP");
    parser.Accept("PERFETTO");
    if (parser.Accept("TABLE")) {
      statement.kind = Kind::kDropTable;
    } else if (parser.Accept("VIEW")) {
      statement.kind = Kind::kDropView;
    } else {
      statement.kind = Kind::kDropIndex;
      parser.Expect("INDEX");
    }
    if (parser.Accept("IF")) {
      parser.Expect("EXISTS");
      statement.if_exists = true;
    }
    statement.name_offset = parser.Place();
    statement.name = parser.Name("a name");
    return statement;
  }
  if (!is(0, "CREATE")) return std::nullopt;
  parser.Accept("CREATE");
  if (is(1, "OR") && is(2, "REPLACE")) {
    parser.Accept("OR");
    parser.Accept("REPLACE");
    statement.replace = true;
  }
  if (parser.Accept("PERFETTO")) {
    const std::size_t what = statement.replace ? 4 : 2;
    statement.kind = is(what, "VIEW") ? Kind::kView : Kind::kTable;
    ParseCreate(parser, statement);
    return statement;
  }
  if (!parser.Accept("VIRTUAL")) return std::nullopt;
  parser.Expect("TABLE");
  if (parser.Accept("IF")) {
    parser.Expect("NOT");
    parser.Expect("EXISTS");
    statement.if_exists = true;
  }
  statement.kind = Kind::kSpanJoin;
  statement.name_offset = parser.Place();
  statement.name = parser.Name("a name");
  parser.Expect("USING");
  if (parser.Accept("SPAN_LEFT_JOIN")) {
    statement.span_kind = SpanJoinKind::kLeft;
  } else if (parser.Accept("SPAN_OUTER_JOIN")) {
    statement.span_kind = SpanJoinKind::kOuter;
  } else if (!parser.Accept("SPAN_JOIN")) {
    parser.Fail("expected SPAN_JOIN, SPAN_LEFT_JOIN or SPAN_OUTER_JOIN");
  }
  parser.Expect("(");
  statement.left = ParseSpanTable(parser);
  parser.Expect(",");
  statement.right = ParseSpanTable(parser);
  parser.Expect(")");
  return statement;
}

}  // namespace culprit::query
