/* Places of extremes, of elements of type T: the first one, and NaN before all. */

#define FIND argmax
#define EXTREME LARGEST
#define WHICH max
#define ABOVE above
#define WORST LOWEST
#define BEFORE(x, y) ((x) > (y))
#include "lines/simd/extremes_loop.h"

#define FIND argmin
#define EXTREME LEAST
#define WHICH min
#define ABOVE below
#define WORST HIGHEST
#define BEFORE(x, y) ((x) < (y))
#include "lines/simd/extremes_loop.h"
