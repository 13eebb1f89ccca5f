/* "any" and "all" of every element type; see truths_body.h. */

#define T float
#define FLAG int32_t
#define PARTS 1
#define LINES any_f32
#define ANY true
#define DECIDES(x, k) (x[k] != 0)
#include "lines/simd/truths_body.h"
#define LINES all_f32
#define ANY false
#define DECIDES(x, k) (x[k] == 0)
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T double
#define FLAG int64_t
#define PARTS 1
#define LINES any_f64
#define ANY true
#define DECIDES(x, k) (x[k] != 0)
#include "lines/simd/truths_body.h"
#define LINES all_f64
#define ANY false
#define DECIDES(x, k) (x[k] == 0)
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T float
#define FLAG int32_t
#define PARTS 2
#define LINES any_c32
#define ANY true
#define DECIDES(x, k) ((x[2 * k] != 0) | (x[2 * k + 1] != 0))
#include "lines/simd/truths_body.h"
#define LINES all_c32
#define ANY false
#define DECIDES(x, k) ((x[2 * k] == 0) & (x[2 * k + 1] == 0))
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T double
#define FLAG int64_t
#define PARTS 2
#define LINES any_c64
#define ANY true
#define DECIDES(x, k) ((x[2 * k] != 0) | (x[2 * k + 1] != 0))
#include "lines/simd/truths_body.h"
#define LINES all_c64
#define ANY false
#define DECIDES(x, k) ((x[2 * k] == 0) & (x[2 * k + 1] == 0))
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T int32_t
#define FLAG int32_t
#define PARTS 1
#define LINES any_i32
#define ANY true
#define DECIDES(x, k) (x[k] != 0)
#include "lines/simd/truths_body.h"
#define LINES all_i32
#define ANY false
#define DECIDES(x, k) (x[k] == 0)
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T int64_t
#define FLAG int64_t
#define PARTS 1
#define LINES any_i64
#define ANY true
#define DECIDES(x, k) (x[k] != 0)
#include "lines/simd/truths_body.h"
#define LINES all_i64
#define ANY false
#define DECIDES(x, k) (x[k] == 0)
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T

#define T uint8_t
#define FLAG uint8_t
#define PARTS 1
#define LINES any_bool
#define ANY true
#define DECIDES(x, k) (x[k] != 0)
#include "lines/simd/truths_body.h"
#define LINES all_bool
#define ANY false
#define DECIDES(x, k) (x[k] == 0)
#include "lines/simd/truths_body.h"
#undef PARTS
#undef FLAG
#undef T
