/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include "test.h"

TEST(values_counts)
{
	uint64_t n;

	CHECK(dnp_parse_count("2048", 1, 65536, &n) && n == 2048);
	CHECK(!dnp_parse_count("0", 1, 65536, &n));
	CHECK(!dnp_parse_count("65537", 1, 65536, &n));
	CHECK(!dnp_parse_count("", 0, 10, &n));
	CHECK(!dnp_parse_count("-1", 0, 10, &n));
	CHECK(!dnp_parse_count(" 1", 0, 10, &n));
	CHECK(!dnp_parse_count("1k", 0, 10, &n));
	CHECK(!dnp_parse_count("99999999999999999999", 0, UINT64_MAX, &n));
}

TEST(values_times)
{
	uint64_t ns;

	CHECK(dnp_parse_seconds("10", &ns) && ns == 10000000000);
	CHECK(dnp_parse_seconds("0.5", &ns) && ns == 500000000);
	CHECK(dnp_parse_seconds("2m", &ns) && ns == 120000000000);
	CHECK(dnp_parse_interval("10ms", &ns) && ns == 10000000);
	CHECK(dnp_parse_interval("500us", &ns) && ns == 500000);
	CHECK(!dnp_parse_interval("10", &ns));
	CHECK(!dnp_parse_seconds("0", &ns));
	CHECK(!dnp_parse_seconds("", &ns));
	CHECK(!dnp_parse_seconds(".", &ns));
	CHECK(!dnp_parse_seconds("-1", &ns));
	CHECK(!dnp_parse_seconds("1e3", &ns));
	CHECK(!dnp_parse_seconds("0x10", &ns));
	CHECK(!dnp_parse_seconds("inf", &ns));
	CHECK(!dnp_parse_seconds("1.2.3", &ns));
	CHECK(!dnp_parse_seconds("10 s", &ns));
	CHECK(!dnp_parse_seconds("99999999999h", &ns));
}

TEST(values_bytes)
{
	uint64_t bytes;

	CHECK(dnp_parse_bytes("4096", &bytes) && bytes == 4096);
	CHECK(dnp_parse_bytes("512k", &bytes) && bytes == 512 << 10);
	CHECK(dnp_parse_bytes("512K", &bytes) && bytes == 512 << 10);
	CHECK(dnp_parse_bytes("1.5m", &bytes) && bytes == 3 << 19);
	CHECK(dnp_parse_bytes("2g", &bytes) && bytes == UINT64_C(2) << 30);
	CHECK(!dnp_parse_bytes("", &bytes));
	CHECK(!dnp_parse_bytes("0", &bytes));
	CHECK(!dnp_parse_bytes("512kb", &bytes));
	CHECK(!dnp_parse_bytes("512 k", &bytes));
	CHECK(!dnp_parse_bytes("k", &bytes));
	CHECK(!dnp_parse_bytes("-1", &bytes));
	CHECK(!dnp_parse_bytes("99999999999g", &bytes));
}

TEST(values_rates)
{
	uint64_t ns;

	CHECK(dnp_parse_hz("199", &ns) && ns == 5025126);
	CHECK(dnp_parse_hz("1000", &ns) && ns == 1000000);
	CHECK(dnp_parse_hz("0.5", &ns) && ns == 2000000000);
	CHECK(!dnp_parse_hz("0", &ns));
	CHECK(!dnp_parse_hz("99Hz", &ns));
	CHECK(!dnp_parse_hz("10000000000", &ns));
}
