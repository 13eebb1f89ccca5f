/* The routines for one kind of elements; linalg_real.c and linalg_complex.c say which, by including number_*.h first.
 * Those of linear systems stand apart, in linalg_lu_real.c and linalg_lu_complex.c, which take linalg_common.h alone.
 *
 * Every routine has a part with the side n as a constant, which the compiler makes once for each of the commonest
 * sides and once for any side.
 */
#include "linalg/simd/linalg_common.h"

#include "linalg/simd/linalg_tiles.h"
#include "linalg/simd/linalg_cholesky.h"
#include "linalg/simd/linalg_reflections.h"
#include "linalg/simd/linalg_qr.h"
#include "linalg/simd/linalg_blocks.h"
#include "linalg/simd/linalg_jacobi.h"
#include "linalg/simd/linalg_places.h"
#include "linalg/simd/linalg_pairs.h"
#include "linalg/simd/linalg_packed.h"
#include "linalg/simd/linalg_sweeps.h"
#include "linalg/simd/linalg_tridiagonal.h"
#include "linalg/simd/linalg_graded.h"
#include "linalg/simd/linalg_eigh.h"
#include "linalg/simd/linalg_bidiagonal.h"
#include "linalg/simd/linalg_svd.h"
#include "linalg/simd/linalg_lstsq.h"
