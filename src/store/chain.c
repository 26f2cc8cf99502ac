/* SPDX-License-Identifier: MIT */
#include "store/chain.h"

#include "format/varint.h"

void dnp_chain_write(struct dnp_chain *chain)
{
	if (chain->bytes)
		dnp_write_stack(chain->writer,
			&(struct dnp_rec_stack){
				.first = chain->first,
				.parent = chain->parent,
				.frames = {(const char *)chain->frames, chain->bytes},
			});
	chain->bytes = 0;
}

void dnp_chain_add(struct dnp_chain *chain, uint32_t parent, uint32_t node, uint32_t frame)
{
	if (chain->bytes + DNP_VARINT_MAX > sizeof(chain->frames))
		dnp_chain_write(chain);
	if (!chain->bytes) {
		chain->first = node;
		chain->parent = parent;
	}
	chain->bytes =
		(size_t)(dnp_varint_put(chain->frames + chain->bytes, frame) - chain->frames);
}
