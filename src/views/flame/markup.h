// Hostile names as SVG, HTML and JSON inside them can carry them: valid UTF-8, nothing that is
// markup, no control characters.
#pragma once

#include <string>
#include <string_view>

namespace culprit::views {

// Control characters, invalid UTF-8 and what XML forbids as \x1b, \n and the like.
std::string PlainText(std::string_view text);

// PlainText for between tags and within quotes.
std::string EscapeMarkup(std::string_view text);

// PlainText as a JSON string with its quotes, which cannot end a <script> nor a CDATA section.
void AppendScriptString(std::string_view text, std::string& out);

}  // namespace culprit::views
