// A text file that the build puts into the program (cmake/Embed.cmake): SQL, mostly.
#pragma once

#include <string_view>

namespace culprit {

struct EmbeddedFile {
  std::string_view name;  // without its folder: "sched.sql"
  std::string_view text;
};

}  // namespace culprit
