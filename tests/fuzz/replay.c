/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over its corpus: `PROGRAM FOLDER`. Each file is given whole, and cut after
 * each of its bytes: input that ends early is the damage that happens most.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clean.h"

enum { MAX_BYTES = 1 << 16, MAX_CUTS = 512 };

static int replay(const char *path)
{
	static uint8_t data[MAX_BYTES];
	auto_fclose FILE *file = fopen(path, "rb");
	size_t n;

	if (!file) {
		perror(path);
		return -1;
	}
	n = fread(data, 1, sizeof(data), file);
	LLVMFuzzerTestOneInput(data, n);
	for (size_t cut = 0; cut < n && cut < MAX_CUTS; cut++)
		LLVMFuzzerTestOneInput(data, cut);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	const struct dirent *entry;
	int n = 0, failed = 0;

	while (folder && (entry = readdir(folder))) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		failed |= replay(path);
		n++;
	}
	if (folder)
		closedir(folder);
	if (!n) {
		fprintf(stderr, "usage: %s FOLDER (with at least one input in it)\n", argv[0]);
		return 2;
	}
	printf("%d inputs\n", n);
	return failed ? 1 : 0;
}
