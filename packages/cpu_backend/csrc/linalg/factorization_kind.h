/* All that is written once for each kind of numbers; undefines what the includer has defined. */
#include "linalg/number_body.h"

#include "linalg/elimination_body.h"

#include "linalg/band_body.h"

#include "linalg/limits_body.h"

#include "linalg/factorization_body.h"
#undef NUMBER
#undef DIVISOR
#undef REAL
#undef BITS
#undef WIDTH
#undef KIND
#undef NAME
