// Goal: each number has a face, one name there, and a sentence. Method: the rules of the table,
// over all rows. That each face shows its rows is tested beside it: info_test,
// metrics_on_disk_test, api_numbers_test.
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/measures/measure.h"
#include "server/observe/thread_counters.h"

namespace weir {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(MeasuresTest, EachHasAFaceAReaderAndASentence) {
  EXPECT_FALSE(Measures().front().section.empty());
  for (const Measure& measure : Measures()) {
    const auto& [info, metric, json] = measure.names;
    if (!measure.section.empty()) continue;
    EXPECT_FALSE(info.empty() && metric.empty() && json.empty()) << measure.help;
    EXPECT_TRUE(measure.read != nullptr) << info << metric << json;
    EXPECT_GE(measure.help.size(), 10U) << info << metric << json;
    EXPECT_THAT(measure.help, EndsWith(".")) << info << metric << json;
    if (!metric.empty()) {
      EXPECT_THAT(metric, testing::AnyOf(StartsWith("weir_"), StartsWith("process_")));
      EXPECT_NE(measure.help, kAsInRedis) << metric;
    }
  }
}

TEST(MeasuresTest, NoFaceHasANameTwice) {
  for (const auto face : {&MeasureNames::info, &MeasureNames::metric, &MeasureNames::json}) {
    std::set<std::string_view> names;
    for (const Measure& measure : Measures()) {
      const std::string_view name = measure.names.*face;
      EXPECT_TRUE(name.empty() || names.insert(name).second) << name;
      if (!name.empty()) {
        EXPECT_EQ(&FindMeasure(face, name), &measure) << name;
      }
    }
  }
}

TEST(MeasuresTest, EveryCounterIsAFieldOfInfo) {
  for (const StatsField& field : kStatsFields) {
    EXPECT_EQ(FindMeasure(&MeasureNames::info, field.name).names.info, field.name);
  }
}

}  // namespace
}  // namespace weir
