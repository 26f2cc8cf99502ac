/* SPDX-License-Identifier: MIT */
/* What may have been meant by a pattern that matches nothing. */
#include "base/near.h"

#include "test.h"

static unsigned near(const char *pattern, const char *name)
{
	return dnp_near(dnp_str(pattern), dnp_str(name));
}

TEST(near_what_matches)
{
	CHECK_EQ(near("MyShop.Cart.Add", "MyShop.Cart.Add(int)"), 0);
	CHECK_EQ(near("MyShop.*", "MyShop.Cart.Add(int)"), 0);
	CHECK_EQ(near("*(int)", "MyShop.Cart.Add(int)"), 0);
	CHECK_EQ(near("*", ""), 0);
}

TEST(near_a_slip)
{
	CHECK(near("MyShp.*", "MyShop.Cart.Add(int)") != DNP_NEAR_NOT);
	CHECK(near("myshop.cart.*", "MyShop.Cart.Add()") != DNP_NEAR_NOT);
	CHECK(near("MyShop.Cart.Ad", "MyShop.Cart.Add()") != DNP_NEAR_NOT);
	CHECK(near("MyShop.Cart.Add(long)", "MyShop.Cart.Add(int)") != DNP_NEAR_NOT);
}

TEST(near_a_part)
{
	CHECK(near("Cart.Add", "MyShop.Cart.Add()") != DNP_NEAR_NOT);
	CHECK(near("Cart.*", "MyShop.Cart.Add()") != DNP_NEAR_NOT);
	CHECK(near("MyShop.Cart", "MyShop.Cart.Add()") != DNP_NEAR_NOT);
	CHECK(near("MyShop.Cart", "MyShop.Cart+Line.Add()") != DNP_NEAR_NOT);
}

TEST(near_order)
{
	CHECK(near("myshop.*", "MyShop.A()") < near("MyShp.*x", "MyShop.A()"));
	CHECK(near("MyShop.Cart.Ad", "MyShop.Cart.Add()") < near("Cart.Ad", "MyShop.Cart.Add()"));
}

TEST(near_not_at_all)
{
	char name[1024];

	CHECK_EQ(near("Nope.*", "App.Run()"), DNP_NEAR_NOT);
	CHECK_EQ(near("MyShop.Cart.Add", "Other.Thing.Do()"), DNP_NEAR_NOT);
	CHECK_EQ(near("Foo", ""), DNP_NEAR_NOT);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(near(name, "a"), DNP_NEAR_NOT);
	CHECK_EQ(near("a*", name), 0);
}

TEST(near_the_nearest_few)
{
	struct dnp_nearest nearest = {0};
	char buffer[64];
	struct dnp_text text;

	dnp_nearest_offer(&nearest, 5, "five");
	dnp_nearest_offer(&nearest, DNP_NEAR_NOT, "not at all");
	dnp_nearest_offer(&nearest, 2, "two");
	dnp_nearest_offer(&nearest, 2, "two");
	dnp_nearest_offer(&nearest, 9, "nine");
	dnp_nearest_offer(&nearest, 3, "three");
	dnp_nearest_offer(&nearest, 7, "seven");
	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_nearest_put(&nearest, &text);
	CHECK_STR(buffer, "two, three, five");
}
