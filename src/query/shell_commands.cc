#include "query/shell_commands.h"

namespace culprit::query {
namespace {

constexpr ShellCommand kCommands[] = {
    {".tables", "", "list the tables and views"},
    {".schema", "[TABLE]", "columns of a table, with types and meanings; of all without a name"},
    {".format", "NAME", "how results are shown: table, csv, json, ndjson, markdown"},
    {".read", "FILE", "run the SQL of a file"},
    {".help", "", "this list"},
    {".quit", "", "leave (also ^D)"},
};

}  // namespace

std::span<const ShellCommand> ShellCommands() { return kCommands; }

}  // namespace culprit::query
