#include "views/flame/markup.h"

#include "base/text.h"

namespace culprit::views {

std::string PlainText(std::string_view text) {
  std::string out = SafeForTerminal(text);
  // U+FFFE and U+FFFF are valid UTF-8 and no characters of XML.
  for (const std::string_view forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = out.find(forbidden); at != std::string::npos; at = out.find(forbidden)) {
      out.replace(at, forbidden.size(), "?");
    }
  }
  return out;
}

std::string EscapeMarkup(std::string_view text) {
  std::string out;
  for (const char c : PlainText(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void AppendScriptString(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : PlainText(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  out += '"';
}

}  // namespace culprit::views
