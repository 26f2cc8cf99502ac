/* SPDX-License-Identifier: MIT */
#include "agent/relay.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/str.h"
#include "clr/hresult.h"
#include "format/agent_options.h"
#include "os/library.h"

typedef HRESULT(DNP_COM *get_class)(const struct dnp_guid *, const struct dnp_guid *, void **);

/* Our own (entry.c). */
HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object);

struct relay {
	char news[64];          /* where the launcher reads what became of it */
	char library[PATH_MAX]; /* of the other profiler */
};

/* PID:NEWS:LIBRARY; false: this process is not meant. */
static bool is_meant(struct relay *relay)
{
	const char *text = getenv(DNP_RELAY_ENV);
	struct dnp_str rest = dnp_str(text), pid, news;

	if (!text || !dnp_str_cut(&rest, ':', &pid) || !dnp_str_cut(&rest, ':', &news) ||
		strtol(text, NULL, 10) != getpid() || news.n >= sizeof(relay->news) ||
		rest.n >= sizeof(relay->library))
		return false;
	memcpy(relay->news, news.p, news.n);
	relay->news[news.n] = '\0';
	memcpy(relay->library, rest.p, rest.n + 1);
	return true;
}

/* The launcher may have gone. */
static void tell(const struct relay *relay, const char *text)
{
	auto_close int fd = open(relay->news, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		return;
}

static HRESULT load(const struct relay *relay, get_class *function)
{
	void *library = dnp_library_open(relay->library);

	if (library)
		*(void **)function = dnp_library_function(library, "DllGetClassObject");
	/* Which would ask itself, without end. */
	if (*function == DllGetClassObject)
		tell(relay, "it is dnprof's own library, which needs no --profiler-path");
	else if (*function)
		return S_OK;
	else
		tell(relay, dnp_library_error());
	return CLASS_E_CLASSNOTAVAILABLE;
}

HRESULT dnp_relay_class(const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object)
{
	struct relay relay;
	get_class function = NULL;
	char text[128];
	HRESULT hr;

	if (!is_meant(&relay))
		return CLASS_E_CLASSNOTAVAILABLE;
	hr = load(&relay, &function);
	if (FAILED(hr))
		return hr;
	hr = function(clsid, iid, object);
	snprintf(text, sizeof(text), "its DllGetClassObject gave %s (0x%08x)", dnp_hresult_name(hr),
		(unsigned)hr);
	tell(&relay, FAILED(hr) ? text : DNP_RELAY_DONE);
	return hr;
}
