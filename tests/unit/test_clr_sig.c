/* SPDX-License-Identifier: MIT */
#include "clr/sig.h"

#include <errno.h>
#include <stdio.h>

#include "test.h"

/* Types are named by their token, with all their arguments; variables by their index. */
static void write_type(
	void *context, uint32_t token, struct dnp_type_args *args, struct dnp_text *out)
{
	char name[16];

	(void)context;
	snprintf(name, sizeof(name), "%08x", token);
	dnp_text_puts(out, name);
	for (const char *before = "<"; args->left; before = ", ") {
		dnp_text_puts(out, before);
		dnp_type_args_next(args, out);
		if (!args->left)
			dnp_text_puts(out, ">");
	}
}

static void write_variable(void *context, bool of_method, uint32_t index, struct dnp_text *out)
{
	char name[16];

	(void)context;
	snprintf(name, sizeof(name), "%s%u", of_method ? "M" : "T", index);
	dnp_text_puts(out, name);
}

static const struct dnp_sig_names names = {write_type, write_variable, NULL};
static char buffer[1024];
static int result;

static const char *params(const uint8_t *blob, size_t n)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	result = dnp_sig_params(blob, n, &names, &text);
	return buffer;
}

static const char *type(const uint8_t *blob, size_t n)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	result = dnp_sig_type(blob, n, &names, &text);
	return buffer;
}

#define CHECK_SIG(function, want, error, ...)                                                      \
	do {                                                                                       \
		static const uint8_t blob_[] = {__VA_ARGS__};                                      \
                                                                                                   \
		CHECK_STR(function(blob_, sizeof(blob_)), want);                                   \
		CHECK_EQ(result, error);                                                           \
	} while (0)

TEST(sig_keywords)
{
	CHECK_SIG(params, "()", 0, 0x00, 0, 0x01);
	CHECK_SIG(params, "(int, string, object)", 0, 0x20, 3, 0x01, 0x08, 0x0e, 0x1c);
	CHECK_SIG(params, "(bool, char, sbyte, byte, short, ushort, uint, long, ulong)", 0, 0x00, 9,
		0x01, 2, 3, 4, 5, 6, 7, 9, 10, 11);
	CHECK_SIG(params, "(float, double, nint, nuint, System.TypedReference)", 0, 0x00, 5, 0x01,
		0x0c, 0x0d, 0x18, 0x19, 0x16);
}

TEST(sig_shapes)
{
	CHECK_SIG(type, "int[][]", 0, 0x1d, 0x1d, 0x08);
	CHECK_SIG(type, "void**", 0, 0x0f, 0x0f, 0x01);
	CHECK_SIG(type, "ref string", 0, 0x10, 0x0e);
	CHECK_SIG(type, "int[,]", 0, 0x14, 0x08, 2, 2, 5, 6, 2, 0, 0);
	CHECK_SIG(type, "int[*]", 0, 0x14, 0x08, 1, 0, 0);
	CHECK_SIG(type, "delegate*<string, int, void>", 0, 0x1b, 0x00, 2, 0x01, 0x0e, 0x08);
	CHECK_SIG(type, "delegate* unmanaged<int>", 0, 0x1b, 0x09, 0, 0x08);
	CHECK_SIG(type, "int", 0, 0x1f, 0x81, 0x05, 0x20, 0x05, 0x08);
}

TEST(sig_named_types)
{
	CHECK_SIG(type, "02000012", 0, 0x12, 0x48);
	CHECK_SIG(type, "01000012", 0, 0x11, 0x49);
	CHECK_SIG(type, "1b000012", 0, 0x12, 0x4a);
	CHECK_SIG(type, "01000041", 0, 0x12, 0x81, 0x05);
	CHECK_SIG(type, "01001000", 0, 0x12, 0xc0, 0x00, 0x40, 0x01);
	CHECK_SIG(type, "01000012<int, 02000001<T3>>", 0, 0x15, 0x12, 0x49, 2, 0x08, 0x15, 0x11,
		0x04, 1, 0x13, 3);
}

TEST(sig_of_generic_and_variable_methods)
{
	CHECK_SIG(params, "(M0, T1)", 0, 0x30, 1, 2, 0x1e, 0, 0x1e, 0, 0x13, 1);
	CHECK_SIG(params, "(int, __arglist)", 0, 0x05, 1, 0x01, 0x08);
	CHECK_SIG(params, "(__arglist)", 0, 0x05, 0, 0x01);
}

TEST(sig_skips_the_result)
{
	CHECK_SIG(params, "(int)", 0, 0x00, 1, 0x15, 0x12, 0x49, 2, 0x08, 0x1d, 0x0e, 0x08);
	CHECK_SIG(params, "(int)", 0, 0x00, 1, 0x1b, 0x00, 1, 0x08, 0x0e, 0x08);
}

TEST(sig_damaged)
{
	CHECK_SIG(params, "(?)", -EBADMSG, 0x00);
	CHECK_SIG(params, "(?)", -EBADMSG, 0x00, 1, 0x01);
	CHECK_SIG(params, "(int, ?)", -EBADMSG, 0x00, 2, 0x01, 0x08);
	CHECK_SIG(params, "(?)", -EBADMSG, 0x06, 0x08);
	CHECK_SIG(params, "(?)", -EBADMSG, 0x00, 1, 0x77, 0x08);
	CHECK_SIG(type, "?", -EBADMSG, 0x12, 0x03);
	CHECK_SIG(type, "?", -EBADMSG, 0x12, 0xe0, 0, 0, 0);
	CHECK_SIG(type, "?", -EBADMSG, 0x15, 0x12, 0x49, 0xdf, 0xff, 0xff, 0xff, 0x08);
	CHECK_SIG(type, "int?", -EBADMSG, 0x14, 0x08, 33, 0, 0);
}

TEST(sig_nesting_is_bounded)
{
	uint8_t deep[200];

	memset(deep, 0x0f, sizeof(deep));
	CHECK(strlen(type(deep, sizeof(deep))) < 64);
	CHECK_EQ(result, -EBADMSG);
	/* The result of a function pointer is read twice: 2^n types in n levels. */
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 3 == 0 ? 0x1b : 0;
	type(deep, sizeof(deep));
	CHECK_EQ(result, -EBADMSG);
}

TEST(sig_keyword_of_a_name)
{
	CHECK_STR(dnp_keyword_of_type(dnp_str("System.Int32")), "int");
	CHECK_STR(dnp_keyword_of_type(dnp_str("System.Decimal")), "decimal");
	CHECK(!dnp_keyword_of_type(dnp_str("System.Int3")));
	CHECK(!dnp_keyword_of_type(dnp_str("System.Int322")));
	CHECK(!dnp_keyword_of_element(0));
	CHECK(!dnp_keyword_of_element(0x12));
}
