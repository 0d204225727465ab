#include "tables/sql_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace culprit::tables {
namespace {

constexpr std::size_t kWindowBytes = 100;  // of a long line, around the place

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t CharactersIn(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

// "Parser Error: message" -> type and message.
void SplitType(std::string_view text, SqlError& error) {
  const auto colon = text.find(" Error: ");
  if (colon != std::string_view::npos && colon < 40) {
    error.type = text.substr(0, colon);
    text.remove_prefix(colon + 8);
  }
  error.message = text;
}

// DuckDB draws its own "LINE 1: ..." below the message; ours is drawn from the offset.
void DropDrawnPlace(std::string& message) {
  const auto at = message.find("\n\nLINE ");
  if (at != std::string::npos) message.resize(at);
}

}  // namespace

std::string PointAt(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const auto before = text.substr(0, offset);
  const auto newline = before.rfind('\n');
  std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::size_t end = std::min(text.find('\n', offset), text.size());
  std::string prefix;
  if (text.substr(0, text.find_last_not_of(" \t\r\n") + 1).find('\n') != std::string_view::npos) {
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    prefix = "LINE " + std::to_string(line) + ": ";
  }
  bool cut_after = false;
  if (end - begin > kWindowBytes) {
    if (offset - begin > kWindowBytes / 2) {
      begin = offset - kWindowBytes / 2;
      while (begin < offset && IsContinuation(text[begin])) ++begin;
      prefix += "...";
    }
    if (end - begin > kWindowBytes) {
      end = begin + kWindowBytes;
      while (end > offset && IsContinuation(text[end])) --end;
      cut_after = true;
    }
  }
  // Tabs and control characters take one column each, so that the caret stands right.
  std::string line(text.substr(begin, end - begin));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  const std::size_t column = prefix.size() + CharactersIn(text.substr(begin, offset - begin));
  return prefix + line + (cut_after ? "..." : "") + "\n" + std::string(column, ' ') + "^";
}

SqlError ParseSqlError(std::string_view text) {
  SqlError error;
  SplitType(text, error);
  const auto json = nlohmann::json::parse(error.message, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("exception_message")) {
    const auto member = [&json](const char* name) {
      const auto found = json.find(name);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    error.type = member("exception_type");
    error.message = member("exception_message");
    error.offset = ParseInteger<std::size_t>(member("position"));
  }
  if (error.type == "INTERRUPT") error.type = "Interrupt";
  DropDrawnPlace(error.message);
  return error;
}

void CountInBytes(SqlError& error, std::string_view sql) {
  if (error.type != "Parser" || !error.offset) return;
  std::size_t byte = 0;
  for (std::size_t characters = *error.offset; byte < sql.size(); ++byte) {
    if (!IsContinuation(sql[byte]) && characters-- == 0) break;
  }
  error.offset = byte;
}

Error ToError(const SqlError& error, std::string_view sql) {
  if (error.type == "Interrupt") return {"the query was cancelled", ""};
  std::string what = error.type.empty() ? "" : error.type + " error: ";
  const auto lines = SplitLines(error.message);
  if (!lines.empty()) what += lines.front();
  // DuckDB puts hints ("Did you mean ...", "Candidate bindings: ...") on further lines.
  std::string remedy;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (TrimBlanks(lines[i]).empty()) continue;
    if (!remedy.empty()) remedy += ' ';
    remedy += TrimBlanks(lines[i]);
  }
  Error result{std::move(what), std::move(remedy)};
  if (error.offset) result.place = PointAt(sql, *error.offset);
  return result;
}

}  // namespace culprit::tables
