/* SPDX-License-Identifier: MIT */
#include "aggregate/ids.h"

#include <string.h>

int dnp_ids_set(struct dnp_ids *ids, uint64_t index, uint32_t place)
{
	ids->n++;
	if (!ids->run) {
		ids->first = index;
		ids->first_place = place;
	}
	if (index - ids->first == ids->run && place - ids->first_place == ids->run) {
		ids->run++;
		return 0;
	}
	if (index > ids->n * 2 + 1024)
		return dnp_map_set(&ids->sparse, index, place);
	if (index >= ids->dense.n) {
		size_t n = (size_t)index + 1;

		if (dnp_vec_reserve(&ids->dense, n))
			return -ENOMEM;
		memset(ids->dense.p + ids->dense.n, 0xff,
			(n - ids->dense.n) * sizeof(*ids->dense.p));
		ids->dense.n = n;
	}
	ids->dense.p[index] = place;
	return 0;
}

void dnp_ids_done(struct dnp_ids *ids)
{
	dnp_vec_done(&ids->dense);
	dnp_map_done(&ids->sparse);
}
