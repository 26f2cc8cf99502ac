/* SPDX-License-Identifier: MIT */
/* The built page (PAGE_HTML: its path), and how long it is. */
	.section .rodata
	DNP_ASM_GLOBAL(dnp_page_html)
	.balign 8
dnp_page_html:
	.incbin PAGE_HTML
dnp_page_html_end:
	.balign 8
	DNP_ASM_GLOBAL(dnp_page_html_bytes)
dnp_page_html_bytes:
	.quad dnp_page_html_end - dnp_page_html
	DNP_ASM_END
