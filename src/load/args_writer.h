// The rows of ArgSets as columns of __intrinsic_args.
#pragma once

#include "base/result.h"
#include "load/row_stream.h"
#include "load/rows.h"
#include "load/string_pool.h"
#include "tables/appender.h"

namespace culprit::load {

Status WriteBlock(const RowBlock<SliceArgRow>& block, const StringPool& strings,
                  tables::Appender& out);

}  // namespace culprit::load
