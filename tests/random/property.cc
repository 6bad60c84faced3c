#include "tests/random/property.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/test_scale.h"

namespace weir {

void CheckLaw(std::int64_t cases, const std::function<void()>& law) {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "/" + test->name();
  metadata.description = test->name();
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = static_cast<int>(ScaledRuns(cases));
  const auto result = rc::detail::checkTestable(law, metadata, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>())
      << message.str() << "\nRC_PARAMS=\"seed=" << params.seed << "\"";
}

rc::Gen<std::int64_t> NumberUpTo(std::int64_t most) {
  int bits = 0;
  while (most >> bits > 1) ++bits;
  return rc::gen::mapcat(
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bits + 1)), [most](int bit) {
        const std::int64_t low = std::int64_t{1} << bit;
        const std::int64_t high = low > most / 2 ? most : 2 * low - 1;
        // inRange excludes its end, which may need more than 63 bits.
        return rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low - 1, high)),
                            [](std::int64_t number) { return number + 1; });
      });
}

}  // namespace weir
