// 128 bits, for products of two 64-bit numbers. Both of our compilers have the type; neither calls
// it standard.
#pragma once

namespace weir {

__extension__ using Wide = unsigned __int128;

}  // namespace weir
