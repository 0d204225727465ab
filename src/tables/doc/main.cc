// tables_doc: prints docs/tables.md; with --check FILE, exit 1 when that file is not the same.
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "tables/schema.h"

namespace {

culprit::Result<std::string> MakeDocument() {
  CULPRIT_ASSIGN(const auto database, culprit::tables::Database::OpenInMemory());
  CULPRIT_ASSIGN(auto connection, database.Connect());
  CULPRIT_TRY(culprit::tables::CreateSchema(connection));
  CULPRIT_ASSIGN(const auto tables, culprit::tables::DescribeSchema(connection));
  return culprit::tables::TablesMarkdown(tables);
}

}  // namespace

int main(int argc, char** argv) {
  const auto document = MakeDocument();
  if (!document.ok()) {
    std::fprintf(stderr, "%s\n", document.error().ToString().c_str());
    return 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "--check") == 0) {
    const auto stored = culprit::ReadFile(argv[2]);
    if (stored.ok() && *stored == *document) return 0;
    std::fprintf(stderr, "%s is not what src/tables/schema says; run ./dev bless\n", argv[2]);
    return 1;
  }
  std::fwrite(document->data(), 1, document->size(), stdout);
  return 0;
}
