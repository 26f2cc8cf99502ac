/* SPDX-License-Identifier: MIT */
#include "base/clean.h"
#include "capture/engine.h"

/* Most events there is one way to record; the choices are where there are two. */
static int fits(const struct dnp_engine *engine, enum dnp_engine_choice choice, bool every)
{
	return (engine->choice == choice) + (engine->every == every);
}

const struct dnp_engine *dnp_engine_find(
	struct dnp_str event, enum dnp_engine_choice choice, bool every)
{
	const struct dnp_engine *found = NULL;

	for (size_t i = 0; dnp_engines_all[i]; i++)
		if (dnp_str_eq(event, dnp_str(dnp_engines_all[i]->event)) &&
			(!found ||
				fits(dnp_engines_all[i], choice, every) >
					fits(found, choice, every)))
			found = dnp_engines_all[i];
	return found;
}

void dnp_engine_note(const struct dnp_engine *engine, unsigned event, struct dnp_writer *writer,
	const char *note)
{
	dnp_write_event(writer,
		&(struct dnp_rec_event){
			.index = event,
			.name = dnp_str(engine->event),
			.unit = dnp_str(engine->unit),
			.source = dnp_str(engine->source()),
			.note = dnp_str(note),
			.lot = engine->lot ? engine->lot() : 0,
		});
}
