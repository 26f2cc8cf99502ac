/* SPDX-License-Identifier: MIT */
#include "agent/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/detach.h"
#include "agent/dump.h"
#include "agent/events.h"
#include "agent/recording.h"
#include "base/text.h"
#include "clr/hresult.h"
#include "format/agent_options.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define AGAIN_NS  (50 * MS_NS) /* until a runtime that is starting is asked again */

/* The connection that stays. */
static struct {
	int fd;         /* borrowed, -1: none does */
	bool recording; /* it holds the one that is made */
	unsigned flags; /* enum dnp_control_start */
} holder = {.fd = -1};

/* Of one that was brought for a request, which may not come: its command line may be dead. */
static struct {
	uint64_t patience_ns, until_ns; /* UINT64_MAX: it stays */
	bool again; /* it stays only for who records, who neither brought it nor sends it away */
} stay = {.until_ns = UINT64_MAX};

/* Why the last recording ended by itself, if it was not well; until another one begins. */
static char failure[256];

static void refuse(const struct dnp_asker *asker, int error, const char *text)
{
	dnp_answer_send(asker->fd, DNP_CONTROL_ERROR, (uint32_t)error, text, -1);
}

/* ---- Stacks */

struct patience {
	struct dnp_asker *asker;
	uint64_t until_ns;
	bool ending; /* the program */
};

static bool still_wanted(void *context)
{
	struct patience *patience = context;

	patience->ending = !patience->asker->meanwhile();
	return !patience->ending && dnp_now_ns() < patience->until_ns &&
		!dnp_channel_has_news(patience->asker->fd);
}

/* Code has to be known: where nothing is recorded, for as long as the dump takes. */
static int dump(int fd, struct patience *patience)
{
	struct dnp_err err = {0};
	int n;

	if (dnp_recording_is_on())
		return dnp_dump_write(fd, still_wanted, patience);
	n = dnp_recording_look(&err);
	if (n)
		close(fd);
	else
		n = dnp_dump_write(fd, still_wanted, patience);
	dnp_recording_look_away();
	return n;
}

static void give_stacks(struct dnp_asker *asker, uint32_t patience_ms)
{
	struct patience patience = {.asker = asker, dnp_now_ns() + patience_ms * MS_NS, false};
	int n, fd = asker->given;

	/* To write to one waits for nobody. */
	if (fd < 0 || !dnp_file_is_in_memory(fd)) {
		refuse(asker, EINVAL,
			"the request brings no file in memory to write to; use the dnprof of this "
			"version");
		return;
	}
	asker->given = -1;
	n = dump(fd, &patience);
	if (n >= 0)
		dnp_answer_send(asker->fd, DNP_CONTROL_DONE, (uint32_t)n, "", -1);
	else if (n == -ECANCELED && patience.ending)
		refuse(asker, ESHUTDOWN, "the program is ending; run it again");
	else if (n == -ECANCELED)
		refuse(asker, ECANCELED,
			"it took longer than that; give it more time with --timeout");
	else
		refuse(asker, -n, strerror(-n));
}

/* ---- Start */

static void refuse_second(const struct dnp_asker *asker)
{
	struct dnp_recording_status status;
	char text[512];
	int n;

	dnp_recording_status(&status);
	n = snprintf(text, sizeof(text), "already recording (%s, since %llu s", status.events,
		(unsigned long long)((dnp_now_ns() - status.since_ns) / SECOND_NS));
	if (status.client)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", by process %d", status.client);
	snprintf(text + n, sizeof(text) - (size_t)n, "); 'dnprof stop %d' ends it",
		dnp_process_id());
	refuse(asker, EBUSY, text);
}

static bool start(struct dnp_asker *asker, const struct dnp_control_message *message)
{
	static struct dnp_agent_options options; /* too large for our stack */
	struct dnp_recording_order order = {
		.options = &options, .fd = asker->given, .client = asker->pid};
	struct dnp_err err = {0};
	int failed = dnp_agent_options_parse_request(&options, message->text, &err);

	if (failed) {
		refuse(asker, -failed, err.text);
		return false;
	}
	if (dnp_detach_look_lost()) {
		refuse(asker, EOPNOTSUPP, dnp_hresult_text(DNPROF_E_LOST));
		return false;
	}
	if (asker->given < 0 || !dnp_file_is_readable_back(asker->given)) {
		refuse(asker, EINVAL,
			"the request brings no regular file, open for reading and writing; use the "
			"dnprof of this version");
		return false;
	}
	/* He would not learn of it, and nobody could find it. */
	if (!(message->value & DNP_START_HOLD) && dnp_channel_has_news(asker->fd))
		return false;
	asker->given = -1;
	failed = dnp_recording_start(&order, &err);
	if (failed) {
		refuse(asker, -failed, err.text);
		return false;
	}
	*failure = '\0';
	stay.again =
		(message->value & DNP_START_HOLD) && (stay.again || stay.until_ns != UINT64_MAX);
	stay.until_ns = UINT64_MAX;
	holder.fd = message->value & DNP_START_HOLD ? asker->fd : -1;
	holder.recording = holder.fd >= 0;
	holder.flags = message->value;
	if (dnp_answer_send(asker->fd, DNP_CONTROL_DONE, 0, "", -1) && !holder.recording)
		dnp_requests_end(DNP_END_LAUNCHER);
	return holder.recording;
}

/* ---- Stop */

static void tell_holder(enum dnp_end_reason reason, const char *text)
{
	if (holder.fd >= 0 && holder.recording)
		dnp_answer_send(holder.fd, DNP_CONTROL_END, reason, text, -1);
	holder.recording = false;
}

void dnp_requests_end(enum dnp_end_reason reason)
{
	struct dnp_err err = {0};

	dnp_recording_end(reason, &err);
	snprintf(failure, sizeof(failure), "%.*s", (int)sizeof(failure) - 1, err.text);
	tell_holder(reason, err.text);
	dnp_recording_file_close();
}

/* By the command that began it. */
static bool is_awaited(void)
{
	struct dnp_recording_status status;

	dnp_recording_status(&status);
	return holder.recording || status.awaited;
}

static void stop(const struct dnp_asker *asker)
{
	struct dnp_err err = {0};
	uint32_t how = 0;

	if (!dnp_recording_is_on()) {
		refuse(asker, ENODATA, "nothing is recorded; 'dnprof start' begins");
		return;
	}
	if (holder.fd != asker->fd && is_awaited())
		how |= DNP_STOPPED_AWAITED;
	if (dnp_recording_end(DNP_END_STOP, &err))
		how |= DNP_STOPPED_CUT;
	if (holder.fd == asker->fd)
		holder.recording = false;
	tell_holder(DNP_END_STOP, err.text);
	dnp_answer_send(asker->fd, DNP_CONTROL_DONE, how, err.text, dnp_recording_file());
	dnp_recording_file_close();
}

static void flush(const struct dnp_asker *asker)
{
	int failed;

	if (!dnp_recording_is_on()) {
		refuse(asker, ENODATA, "nothing is recorded; 'dnprof start' begins");
		return;
	}
	failed = dnp_recording_flush();
	if (failed)
		refuse(asker, -failed, strerror(-failed));
	else
		dnp_answer_send(asker->fd, DNP_CONTROL_DONE, 0, "", dnp_recording_file());
}

/* ---- Detach */

/* The runtime lets nobody go before it has started. */
static bool is_starting(HRESULT hr)
{
	return hr == CORPROF_E_RUNTIME_UNINITIALIZED ||
		hr == CORPROF_E_PROFILER_NOT_YET_INITIALIZED;
}

/* Of a runtime that is starting the agent is on its way out all the same: it asks again. */
static HRESULT leave(void)
{
	HRESULT hr;

	stay.until_ns = UINT64_MAX;
	if (dnp_agent_presence() == DNP_LEAVING)
		return CORPROF_E_PROFILER_DETACHING;
	if (dnp_recording_is_on())
		dnp_requests_end(DNP_END_STOP);
	hr = dnp_detach_request();
	if (!is_starting(hr))
		return hr;
	stay.until_ns = dnp_now_ns() + AGAIN_NS;
	return S_OK;
}

static void stay_longer(void)
{
	if (stay.until_ns != UINT64_MAX)
		stay.until_ns = dnp_now_ns() + stay.patience_ns;
}

void dnp_requests_begin(uint32_t leave_ms)
{
	holder.fd = -1;
	holder.recording = false;
	*failure = '\0';
	stay.again = false;
	stay.patience_ns = leave_ms * MS_NS;
	stay.until_ns = leave_ms ? dnp_now_ns() + stay.patience_ns : UINT64_MAX;
}

uint64_t dnp_requests_deadline(void)
{
	return stay.until_ns;
}

void dnp_requests_leave(void)
{
	leave();
}

static void refuse_leaving(const struct dnp_asker *asker)
{
	refuse(asker, EALREADY,
		"CORPROF_E_PROFILER_DETACHING (0x80131367): its agent is leaving; try again in a "
		"moment");
}

/* Whether leaving would end a recording that the one who asks does not hold. */
static bool is_anothers(const struct dnp_asker *asker)
{
	return dnp_recording_is_on() && !(holder.recording && holder.fd == asker->fd);
}

/* What the runtime does not let go stays, and does nothing: nothing is recorded any more. */
static void detach(const struct dnp_asker *asker)
{
	HRESULT hr = leave();
	const char *name = dnp_hresult_name(hr);
	char text[512];

	if (SUCCEEDED(hr)) {
		dnp_answer_send(asker->fd, DNP_CONTROL_DONE, 0, "", -1);
		return;
	}
	snprintf(text, sizeof(text),
		"the agent cannot leave: %s (0x%08x): %s It is quiet now: nothing is recorded",
		name ? name : "unknown", (unsigned)hr, dnp_hresult_text(hr));
	refuse(asker, EOPNOTSUPP, text);
}

/* ---- Status */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("/._-+:,@", c));
}

static void put_word(struct dnp_text *text, const char *key, const char *value)
{
	if (text->n)
		dnp_text_puts(text, " ");
	dnp_text_puts(text, key);
	dnp_text_puts(text, "=");
	for (; *value; value++) {
		char escaped[4];

		snprintf(escaped, sizeof(escaped), is_plain(*value) ? "%c" : "%%%02X",
			(unsigned char)*value);
		dnp_text_puts(text, escaped);
	}
}

static void put_number(struct dnp_text *text, const char *key, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	put_word(text, key, digits);
}

static void put_recording(struct dnp_text *text)
{
	struct dnp_recording_status status;

	dnp_recording_status(&status);
	put_word(text, "events", status.events);
	put_number(text, "since_unix_ns", status.since_unix_ns);
	put_number(text, "samples", status.samples);
	put_number(text, "lost", status.losses.count);
	if (*status.losses.weights)
		put_word(text, "lost_weights", status.losses.weights);
	put_number(text, "bytes", status.bytes);
	put_number(text, "client", (uint64_t)status.client);
	put_word(text, "held", holder.recording ? "yes" : "no");
	put_word(text, "awaited", is_awaited() ? "yes" : "no");
}

static const char *state(void)
{
	if (dnp_agent_presence() == DNP_LEAVING)
		return "detaching";
	return dnp_recording_is_on() ? "recording" : "attached";
}

static void give_status(const struct dnp_asker *asker)
{
	HRESULT lasting = dnp_detach_is_lost() ? DNPROF_E_LOST : dnp_events_lasting();
	char buffer[2048];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	put_word(&text, "version", DNP_VERSION);
	put_word(&text, "runtime", dnp_agent.runtime);
	put_word(&text, "state", state());
	put_word(&text, "slot", dnp_agent.notification ? "notification" : "main");
	put_word(&text, "how", dnp_agent.attached ? "attach" : "startup");
	put_word(&text, "detachable", lasting ? "no" : "yes");
	if (lasting)
		put_word(&text, "reason", dnp_hresult_text(lasting));
	put_number(&text, "threads", dnp_process_thread_count());
	if (dnp_recording_is_on())
		put_recording(&text);
	else if (*failure)
		put_word(&text, "failure", failure);
	dnp_answer_send(asker->fd, DNP_CONTROL_DONE, 0, text.p, -1);
}

/* ---- Any */

bool dnp_requests_handle(struct dnp_asker *asker, const struct dnp_control_message *message)
{
	bool leaving = dnp_agent_presence() == DNP_LEAVING;

	switch (message->kind) {
	case DNP_CONTROL_STACK:
		if (leaving)
			refuse_leaving(asker);
		else
			give_stacks(asker, message->value);
		stay_longer();
		break;
	case DNP_CONTROL_START:
		if (leaving) {
			refuse_leaving(asker);
			break;
		}
		if (!dnp_recording_is_on())
			return start(asker, message);
		refuse_second(asker);
		break;
	case DNP_CONTROL_STOP: stop(asker); break;
	case DNP_CONTROL_FLUSH: flush(asker); break;
	case DNP_CONTROL_STATUS: give_status(asker); break;
	case DNP_CONTROL_DETACH:
		if (leaving)
			refuse_leaving(asker);
		else if (message->value & DNP_DETACH_OWN && is_anothers(asker))
			refuse(asker, EBUSY,
				"the agent stays: somebody else has begun a recording meanwhile");
		else
			detach(asker);
		break;
	default:
		refuse(asker, EBADMSG,
			"the request is not understood; use the dnprof of version " DNP_VERSION);
	}
	return holder.fd == asker->fd;
}

void dnp_requests_gone(int fd)
{
	if (holder.fd != fd)
		return;
	holder.fd = -1;
	if (holder.recording)
		dnp_requests_end(DNP_END_LAUNCHER);
	/* Not when another recording was begun meanwhile: then it is another's turn. */
	if (dnp_recording_is_on())
		return;
	if (holder.flags & DNP_START_DETACH)
		leave();
	else if (stay.again)
		stay.until_ns = dnp_now_ns() + stay.patience_ns;
}
