// The parsers of tracefs' layout files and of the task states in a print fmt.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/format.h"
#include "tracefile/task_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto format = culprit::kernel::ParseEventFormat(text);
  if (format.ok()) {
    for (const auto* list : {&format->common, &format->fields}) {
      for (const auto& field : *list) {
        // What the decoder of records relies on.
        CULPRIT_CHECK(!field.name.empty());
        CULPRIT_CHECK(field.element_bytes >= 1 && field.element_bytes <= 8);
        CULPRIT_CHECK(field.kind != culprit::kernel::FieldKind::kInteger || field.size <= 8);
      }
    }
  }
  const auto page = culprit::kernel::ParseHeaderPage(text);
  if (page.ok()) CULPRIT_CHECK(page->data_offset >= 12);
  const auto record = culprit::kernel::ParseHeaderEvent(text);
  if (record.ok()) CULPRIT_CHECK(record->type_len_bits + record->time_delta_bits == 32);
  if (const auto states = culprit::tracefile::TaskStates::FromFormat(text)) {
    for (const std::int64_t state : {0L, 1L, 2L, 256L, 4096L, -1L}) {
      CULPRIT_CHECK(!states->Text(state).empty());
    }
  }
  return 0;
}
