/* SPDX-License-Identifier: MIT */
/*
 * Built in two passes: list the functions (frame description entries) and sort them by address,
 * then run each one's instructions in that order, so that rows come out sorted. Distinct rules are
 * few (some hundreds), so a row is an offset and an index: 6 bytes.
 */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/mem.h"

/* ---- Reading; a cursor that ran over its end stays there and says so */

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take(struct cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static void skip(struct cursor *c, uint64_t bytes)
{
	if (bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		c->at = c->end;
	} else {
		c->at += bytes;
	}
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t take_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* Offsets are multiplied and added without a trap: nonsense gives a nonsense number, checked later.
 */
static int64_t scaled(uint64_t value, int64_t factor)
{
	return (int64_t)(value * (uint64_t)factor);
}

enum { PE_FORMAT = 0x0f, PE_BASE = 0x70, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_OMIT = 0xff };

static uint64_t take_value(struct cursor *c, unsigned encoding)
{
	switch (encoding & PE_FORMAT) {
	case 0x0: /* absolute */
	case 0x4:
	case 0xc: return take(c, 8);
	case 0x1: return take_uleb(c);
	case 0x2: return take(c, 2);
	case 0x3: return take(c, 4);
	case 0x9: return (uint64_t)take_sleb(c);
	case 0xa: return (uint64_t)(int16_t)take(c, 2);
	case 0xb: return (uint64_t)(int32_t)take(c, 4);
	default: c->bad = true; return 0;
	}
}

/* ---- One entry */

struct cie {
	const uint8_t *begin, *end; /* initial instructions */
	uint64_t code_factor;
	int64_t data_factor;
	unsigned pointer_encoding;
	bool augmented, signal;
};

struct reader {
	const struct dnp_cfi_input *in;
	const uint8_t *end;
	struct cie cie; /* of the last function read */
	size_t cie_at;  /* its offset in the input, SIZE_MAX: none */
};

static uint64_t take_pointer(const struct reader *r, struct cursor *c, unsigned encoding)
{
	uintptr_t here = r->in->address + (uintptr_t)(c->at - r->in->bytes);
	uint64_t value = take_value(c, encoding);

	switch (encoding & PE_BASE) {
	case 0: return value;
	case PE_PCREL: return value + here;
	case PE_DATAREL: return value + r->in->hdr;
	default: c->bad = true; return 0;
	}
}

/* Bounds of the entry at an offset: *body is its id field, false at the end of the section. */
static bool entry_at(const struct reader *r, size_t at, struct cursor *body)
{
	uint32_t length;

	if (r->in->n - at < 8)
		return false;
	memcpy(&length, r->in->bytes + at, 4);
	if (length < 4 || length > r->in->n - at - 4)
		return false; /* the terminator, 64 bit lengths (nobody writes them), or nonsense */
	*body = (struct cursor){r->in->bytes + at + 4, r->in->bytes + at + 4 + length, false};
	return true;
}

static bool read_augmentation(
	const struct reader *r, struct cursor *c, const char *letters, struct cie *cie)
{
	uint64_t bytes = take_uleb(c);
	struct cursor data = *c;

	skip(c, bytes);
	if (c->bad)
		return false;
	data.end = c->at;
	for (; *letters && !data.bad; letters++) {
		switch (*letters) {
		case 'R': cie->pointer_encoding = (unsigned)take(&data, 1); break;
		case 'L': take(&data, 1); break;
		case 'P': {
			unsigned encoding = (unsigned)take(&data, 1);

			if (encoding != PE_OMIT)
				take_pointer(r, &data, encoding);
			break;
		}
		case 'S': cie->signal = true; break;
		case 'B': break;
		default: return true; /* later letters may need data we cannot skip */
		}
	}
	return !data.bad;
}

static bool read_cie(const struct reader *r, size_t at, struct cie *cie)
{
	struct cursor c;
	const char *letters;
	unsigned version;

	if (!entry_at(r, at, &c) || take(&c, 4) != 0)
		return false;
	memset(cie, 0, sizeof(*cie));
	version = (unsigned)take(&c, 1);
	letters = (const char *)c.at;
	while (take(&c, 1) && !c.bad)
		;
	if (c.bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4)
		skip(&c, 2); /* sizes of an address and of a segment selector */
	cie->code_factor = take_uleb(&c);
	cie->data_factor = take_sleb(&c);
	if ((version == 1 ? take(&c, 1) : take_uleb(&c)) != 16)
		return false; /* the return address lives in column 16 */
	if (letters[0] == 'z') {
		cie->augmented = true;
		if (!read_augmentation(r, &c, letters + 1, cie))
			return false;
	} else if (letters[0]) {
		return false;
	}
	cie->begin = c.at;
	cie->end = c.end;
	return !c.bad;
}

struct fde {
	uint32_t start, end; /* offsets from the module's code */
	struct cursor code;  /* its instructions */
};

/* The function whose entry goes on at a cursor, behind the reference to its CIE, which is r->cie.
 */
static bool read_function(const struct reader *r, struct cursor c, struct fde *fde)
{
	uint64_t start = take_pointer(r, &c, r->cie.pointer_encoding);
	uint64_t size = take_value(&c, r->cie.pointer_encoding);

	if (r->cie.augmented)
		skip(&c, take_uleb(&c));
	if (c.bad || start < r->in->low || start >= r->in->high || !size ||
		size > r->in->high - start || start - r->in->low + size > UINT32_MAX)
		return false;
	fde->start = (uint32_t)(start - r->in->low);
	fde->end = (uint32_t)(start - r->in->low + size);
	fde->code = c;
	return true;
}

/* Reads the function at an offset of the input; its CIE is in r->cie then. */
static bool read_fde(struct reader *r, size_t at, struct fde *fde)
{
	struct cursor c;
	uint64_t back;
	size_t cie_at;

	if (!entry_at(r, at, &c))
		return false;
	back = take(&c, 4);
	if (!back || back > at + 4)
		return false;
	cie_at = at + 4 - (size_t)back;
	if (cie_at != r->cie_at) {
		r->cie_at = SIZE_MAX;
		if (!read_cie(r, cie_at, &r->cie))
			return false;
		r->cie_at = cie_at;
	}
	return read_function(r, c, fde);
}

/* ---- Rows as they are made */

struct row {
	uint32_t offset;
	uint16_t id;
};

#define RULES_MAX  0x7fffU /* ids have 15 bits */
#define HASH_SLOTS 0x10000U

struct builder {
	struct row *rows; /* mapped, as all here */
	size_t n, room;
	struct dnp_rule *rules;
	uint16_t *hash; /* rule index, 0: free */
	uint32_t n_rules, functions, without_rule;
};

static uint16_t rule_id(struct builder *b, struct dnp_rule rule)
{
	uint64_t bits;
	uint32_t slot;

	if (rule.cfa == DNP_CFA_NONE)
		return 0;
	memcpy(&bits, &rule, sizeof(bits));
	slot = (uint32_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> 48);
	for (;; slot = (slot + 1) % HASH_SLOTS) {
		if (!b->hash[slot]) {
			if (b->n_rules == RULES_MAX)
				return 0;
			b->rules[b->n_rules] = rule;
			b->hash[slot] = (uint16_t)b->n_rules;
			return (uint16_t)b->n_rules++;
		}
		if (dnp_rule_same(b->rules[b->hash[slot]], rule))
			return b->hash[slot];
	}
}

static void put_row(struct builder *b, uint32_t offset, uint16_t id)
{
	struct row *last = b->n ? &b->rows[b->n - 1] : NULL;

	if (last && offset < last->offset)
		return; /* functions that overlap: the first one keeps its rows */
	if (last && offset == last->offset) {
		last->id = (uint16_t)(id | (last->id & DNP_CFI_FUNCTION));
		return;
	}
	if (last && (last->id & ~DNP_CFI_FUNCTION) == id)
		return;
	if (b->n < b->room)
		b->rows[b->n++] = (struct row){offset, id};
}

#define PADDING_MAX 16 /* between two functions; not worth a row of its own */

static void put_function(struct builder *b, uint32_t start)
{
	if (b->n && b->rows[b->n - 1].id == 0 && start - b->rows[b->n - 1].offset < PADDING_MAX)
		b->n--;
	if (b->n && start < b->rows[b->n - 1].offset)
		return; /* begins inside of another one */
	if (!b->n || start > b->rows[b->n - 1].offset) {
		if (b->n == b->room)
			return;
		b->rows[b->n++].offset = start;
	}
	b->rows[b->n - 1].id = DNP_CFI_FUNCTION;
	b->functions++;
}

/* ---- Running the instructions of a function */

enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_R10 = 10, REG_R11 = 11, REG_RA = 16 };

enum saved { SAVED_NOT = 0, SAVED_AT_CFA, SAVED_AT_BP, SAVED_UNKNOWN };

struct reg_state {
	enum saved how;
	int64_t offset;
};

struct state {
	uint64_t cfa_reg;
	int64_t cfa_offset;
	enum dnp_cfa expression; /* NONE: register and offset */
	bool unknown_expression, no_caller;
	struct reg_state bp, bx, ra;
};

static struct dnp_rule fault_rule(const struct state *s, struct dnp_rule rule)
{
	if (s->expression || s->cfa_reg != REG_SP || !dnp_rule_set_bx(&rule, s->ra.offset))
		return (struct dnp_rule){0};
	rule.cfa = DNP_CFA_FAULT;
	return rule;
}

static struct dnp_rule rule_of(const struct state *s, bool signal)
{
	struct dnp_rule rule = {0};

	if (signal)
		return (struct dnp_rule){.cfa = DNP_CFA_SIGNAL};
	if (s->no_caller)
		return (struct dnp_rule){.cfa = DNP_CFA_END};
	if (s->unknown_expression || s->cfa_offset < INT32_MIN || s->cfa_offset > INT32_MAX)
		return rule;
	rule.off = (int32_t)s->cfa_offset;
	if (s->bp.how == SAVED_UNKNOWN ||
		(s->bp.how == SAVED_AT_CFA && !dnp_rule_set_bp(&rule, s->bp.offset)))
		return (struct dnp_rule){0};
	rule.bp_at = s->bp.how == SAVED_AT_BP;
	if (s->ra.how == SAVED_AT_CFA && s->ra.offset != -8)
		return fault_rule(s, rule);
	if (s->bx.how == SAVED_AT_CFA)
		dnp_rule_set_bx(&rule, s->bx.offset);
	if (s->expression)
		rule.cfa = s->expression;
	else if (s->cfa_reg == REG_SP)
		rule.cfa = DNP_CFA_SP;
	else if (s->cfa_reg == REG_BP)
		rule.cfa = DNP_CFA_BP;
	else if (s->cfa_reg == REG_BX)
		rule.cfa = DNP_CFA_BX;
	else if (s->cfa_reg == REG_R10)
		rule.cfa = DNP_CFA_R10;
	else if (s->cfa_reg == REG_R11)
		rule.cfa = DNP_CFA_R11;
	else
		return (struct dnp_rule){0};
	return rule;
}

enum {
	OP_LIT0 = 0x30,
	OP_BREG_BP = 0x76,
	OP_BREG_SP = 0x77,
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23
};

/*
 * Three expressions are in use: that of a PLT (rsp + 8, and 8 more from the byte on where the push
 * is done), the old rsp kept in the frame (hand-written code), and frames that realign the stack.
 */
static void set_expression(struct state *s, const uint8_t *p, uint64_t n)
{
	static const uint8_t plt[] = {
		OP_BREG_SP, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	struct cursor c = {p + 1, p + n, false};
	int64_t offset;

	s->unknown_expression = true;
	s->expression = DNP_CFA_NONE;
	if (n == sizeof(plt) && memcmp(p, plt, 6) == 0 && memcmp(p + 7, plt + 7, 4) == 0 &&
		p[6] >= OP_LIT0 && p[6] < OP_LIT0 + 16) {
		s->expression = DNP_CFA_PLT;
		s->cfa_offset = p[6] - OP_LIT0;
		s->unknown_expression = false;
		return;
	}
	if (n < 3 || (p[0] != OP_BREG_SP && p[0] != OP_BREG_BP))
		return;
	offset = take_sleb(&c);
	if (take(&c, 1) != OP_DEREF || c.bad)
		return;
	if (p[0] == OP_BREG_BP && c.at == c.end)
		s->expression = DNP_CFA_AT_BP;
	else if (p[0] == OP_BREG_SP && c.end - c.at == 2 && c.at[0] == OP_PLUS_UCONST &&
		c.at[1] == 8)
		s->expression = DNP_CFA_AT_SP;
	else
		return;
	s->cfa_offset = offset;
	s->unknown_expression = false;
}

static struct reg_state *tracked(struct state *s, uint64_t reg)
{
	return reg == REG_BP ? &s->bp : reg == REG_BX ? &s->bx : reg == REG_RA ? &s->ra : NULL;
}

static void save_at(struct state *s, uint64_t reg, int64_t offset)
{
	struct reg_state *saved = tracked(s, reg);

	if (saved)
		*saved = (struct reg_state){SAVED_AT_CFA, offset};
}

static void save_how(struct state *s, uint64_t reg, enum saved how)
{
	struct reg_state *saved = tracked(s, reg);

	if (saved)
		*saved = (struct reg_state){how, 0};
	if (reg == REG_RA && how != SAVED_NOT)
		s->unknown_expression = true; /* the return address is somewhere else */
}

static void save_by_expression(struct state *s, uint64_t reg, const uint8_t *p, uint64_t n)
{
	if (reg == REG_BP && n == 2 && p[0] == OP_BREG_BP && p[1] == 0)
		s->bp = (struct reg_state){SAVED_AT_BP, 0};
	else
		save_how(s, reg, SAVED_UNKNOWN);
}

static void restore(struct state *s, const struct state *initial, uint64_t reg)
{
	if (reg == REG_BP)
		s->bp = initial->bp;
	else if (reg == REG_BX)
		s->bx = initial->bx;
	else if (reg == REG_RA)
		s->ra = initial->ra;
}

#define REMEMBER_MAX 16

struct run {
	const struct reader *r;
	const struct cie *cie;
	struct builder *out; /* NULL: no rows are wanted */
	struct state state, initial;
	struct state remembered[REMEMBER_MAX];
	size_t n_remembered;
	uint64_t offset,
		end; /* the state holds from `offset` on; there is nothing to do behind `end` */
	bool over;   /* stopped by that */
};

/* The state so far holds up to `to`. */
static bool advance(struct run *run, uint64_t to)
{
	if (run->out)
		put_row(run->out, (uint32_t)run->offset,
			rule_id(run->out, rule_of(&run->state, run->cie->signal)));
	run->over = to > run->end;
	if (to < run->offset || run->over)
		return false;
	run->offset = to;
	return true;
}

static bool define_cfa(struct state *s, uint64_t reg, int64_t offset)
{
	s->cfa_reg = reg;
	s->cfa_offset = offset;
	s->expression = DNP_CFA_NONE;
	s->unknown_expression = false;
	return true;
}

static bool remember(struct run *run)
{
	if (run->n_remembered == REMEMBER_MAX)
		return false;
	run->remembered[run->n_remembered++] = run->state;
	return true;
}

static bool recall(struct run *run)
{
	if (!run->n_remembered)
		return false;
	run->state = run->remembered[--run->n_remembered];
	return true;
}

/* Those whose operand is in the opcode's low 6 bits are done by the caller. */
static bool run_other(struct run *run, unsigned op, struct cursor *c)
{
	struct state *s = &run->state;
	int64_t factor = run->cie->data_factor;
	uint64_t reg, n;

	switch (op) {
	case 0x00: return true; /* nop */
	case 0x01:              /* set_loc */
		n = take_pointer(run->r, c, run->cie->pointer_encoding);
		return !c->bad && advance(run, n - run->r->in->low);
	case 0x02: return advance(run, run->offset + take(c, 1) * run->cie->code_factor);
	case 0x03: return advance(run, run->offset + take(c, 2) * run->cie->code_factor);
	case 0x04: return advance(run, run->offset + take(c, 4) * run->cie->code_factor);
	case 0x05: /* offset_extended */
		reg = take_uleb(c);
		save_at(s, reg, scaled(take_uleb(c), factor));
		return true;
	case 0x06: restore(s, &run->initial, take_uleb(c)); return true;
	case 0x07: /* undefined */
		reg = take_uleb(c);
		if (reg == REG_RA)
			s->no_caller = true;
		else
			save_how(s, reg, SAVED_NOT);
		return true;
	case 0x08: /* same_value */
		reg = take_uleb(c);
		save_how(s, reg, SAVED_NOT);
		return true;
	case 0x09: /* register */
		reg = take_uleb(c);
		take_uleb(c);
		save_how(s, reg, SAVED_UNKNOWN);
		return true;
	case 0x0a: return remember(run);
	case 0x0b: return recall(run);
	case 0x0c: /* def_cfa */
		reg = take_uleb(c);
		return define_cfa(s, reg, (int64_t)take_uleb(c));
	case 0x0d: return define_cfa(s, take_uleb(c), s->cfa_offset);
	case 0x0e: s->cfa_offset = (int64_t)take_uleb(c); return true;
	case 0x0f: /* def_cfa_expression */
		n = take_uleb(c);
		skip(c, n);
		if (!c->bad)
			set_expression(s, c->at - n, n);
		return true;
	case 0x10: /* expression */
		reg = take_uleb(c);
		n = take_uleb(c);
		skip(c, n);
		if (!c->bad)
			save_by_expression(s, reg, c->at - n, n);
		return true;
	case 0x11: /* offset_extended_sf */
		reg = take_uleb(c);
		save_at(s, reg, scaled((uint64_t)take_sleb(c), factor));
		return true;
	case 0x12: /* def_cfa_sf */
		reg = take_uleb(c);
		return define_cfa(s, reg, scaled((uint64_t)take_sleb(c), factor));
	case 0x13: s->cfa_offset = scaled((uint64_t)take_sleb(c), factor); return true;
	case 0x14: /* val_offset, val_offset_sf, val_expression */
	case 0x15:
		reg = take_uleb(c);
		take_uleb(c);
		save_how(s, reg, SAVED_UNKNOWN);
		return true;
	case 0x16:
		reg = take_uleb(c);
		skip(c, take_uleb(c));
		save_how(s, reg, SAVED_UNKNOWN);
		return true;
	case 0x2e: take_uleb(c); return true; /* GNU_args_size */
	case 0x2f:                            /* GNU_negative_offset_extended */
		reg = take_uleb(c);
		save_at(s, reg, scaled(0 - take_uleb(c), factor));
		return true;
	default: return false;
	}
}

static bool run_code(struct run *run, struct cursor c)
{
	while (c.at < c.end && !c.bad) {
		unsigned op = (unsigned)take(&c, 1), low = op & 0x3f;
		bool ok = true;

		switch (op & 0xc0) {
		case 0x40: ok = advance(run, run->offset + low * run->cie->code_factor); break;
		case 0x80:
			save_at(&run->state, low, scaled(take_uleb(&c), run->cie->data_factor));
			break;
		case 0xc0: restore(&run->state, &run->initial, low); break;
		default: ok = run_other(run, op, &c);
		}
		if (!ok)
			return false;
	}
	return !c.bad;
}

/* Runs the initial instructions. */
static void begin_run(struct run *run, const struct reader *r, const struct fde *fde, uint64_t end)
{
	*run = (struct run){.r = r, .cie = &r->cie, .offset = fde->start, .end = fde->start};
	if (!run_code(run, (struct cursor){r->cie.begin, r->cie.end, false}))
		run->state.unknown_expression = true;
	run->initial = run->state;
	run->n_remembered = 0;
	run->end = end;
	run->over = false;
}

static void add_function(const struct reader *r, struct builder *b, const struct fde *fde)
{
	struct run run;

	begin_run(&run, r, fde, fde->end);
	run.out = b;
	put_function(b, fde->start);
	if (!run_code(&run, fde->code))
		run.state.unknown_expression = true; /* no rule from here on */
	if (run.offset < fde->end)
		advance(&run, fde->end);
	put_row(b, fde->end, 0);
}

/* ---- The table */

struct function {
	uint32_t start;
	uint32_t at; /* of its entry in the input */
};

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->at > y->at) - (x->at < y->at);
}

/* Calls to fill `list` up; with NULL it counts. */
static size_t list_functions(struct reader *r, struct function *list)
{
	struct cursor body;
	struct fde fde;
	size_t n = 0;

	for (size_t at = 0; entry_at(r, at, &body); at = (size_t)(body.end - r->in->bytes)) {
		if (!read_fde(r, at, &fde))
			continue;
		if (list)
			list[n] = (struct function){fde.start, (uint32_t)at};
		n++;
	}
	return n;
}

static int finish(const struct builder *b, struct dnp_cfi **out)
{
	size_t rules_bytes = b->n_rules * sizeof(struct dnp_rule);
	size_t pieces = ((size_t)b->rows[b->n - 1].offset >> DNP_CFI_PIECE_BITS) + 1;
	size_t bytes = sizeof(struct dnp_cfi) + rules_bytes + (pieces + 1) * 4 + b->n * (4 + 2);
	struct dnp_cfi *table = dnp_mem_map(bytes);
	struct dnp_rule *rules;
	uint32_t *starts, *offsets;
	uint16_t *ids;

	if (!table)
		return -ENOMEM;
	rules = (struct dnp_rule *)(table + 1);
	starts = (uint32_t *)(rules + b->n_rules);
	offsets = starts + pieces + 1;
	ids = (uint16_t *)(offsets + b->n);
	memcpy(rules, b->rules, rules_bytes);
	table->stats.functions = b->functions;
	for (size_t i = 0; i < b->n; i++) {
		bool gap = b->rows[i].id == 0;

		offsets[i] = b->rows[i].offset;
		ids[i] = b->rows[i].id;
		if (!gap && !(ids[i] & ~DNP_CFI_FUNCTION))
			table->stats.without_rule++;
	}
	for (size_t i = 0, piece = 0; piece <= pieces; piece++) {
		while (i < b->n && (size_t)offsets[i] >> DNP_CFI_PIECE_BITS < piece)
			i++;
		starts[piece] = (uint32_t)i;
	}
	table->mapped_bytes = bytes;
	table->rows = (uint32_t)b->n;
	table->pieces = (uint32_t)pieces;
	table->starts = starts;
	table->offsets = offsets;
	table->ids = ids;
	table->rules = rules;
	table->stats.rows = table->rows;
	table->stats.rules = b->n_rules;
	table->stats.bytes = bytes;
	*out = table;
	return 0;
}

static int build_rows(struct reader *r, struct builder *b, const struct function *list, size_t n)
{
	struct fde fde;

	b->n_rules = 1; /* [0]: none */
	for (size_t i = 0; i < n; i++) {
		if (i && list[i].start == list[i - 1].start)
			continue; /* the same function twice */
		if (read_fde(r, list[i].at, &fde))
			add_function(r, b, &fde);
	}
	return b->n ? 0 : -ENOENT;
}

int dnp_cfi_build(const struct dnp_cfi_input *input, struct dnp_cfi **table)
{
	struct reader r = {.in = input, .cie_at = SIZE_MAX};
	struct builder b = {0};
	struct function *list;
	size_t n, list_bytes, rows_bytes;
	int result = -ENOMEM;

	if (input->n > UINT32_MAX)
		return -ENOENT;
	n = list_functions(&r, NULL);
	if (!n)
		return -ENOENT;
	/* Each row but two of a function takes at least one byte of instructions. */
	b.room = input->n + 2 * n;
	list_bytes = n * sizeof(*list);
	rows_bytes = b.room * sizeof(*b.rows);
	list = dnp_mem_map(list_bytes);
	b.rows = dnp_mem_map(rows_bytes);
	b.rules = dnp_mem_map(RULES_MAX * sizeof(*b.rules));
	b.hash = dnp_mem_map(HASH_SLOTS * sizeof(*b.hash));
	if (list && b.rows && b.rules && b.hash) {
		list_functions(&r, list);
		qsort(list, n, sizeof(*list), by_start);
		result = build_rows(&r, &b, list, n);
		if (result == 0)
			result = finish(&b, table);
	}
	dnp_mem_unmap(list, list_bytes);
	dnp_mem_unmap(b.rows, rows_bytes);
	dnp_mem_unmap(b.rules, RULES_MAX * sizeof(*b.rules));
	dnp_mem_unmap(b.hash, HASH_SLOTS * sizeof(*b.hash));
	return result;
}

void dnp_cfi_free(struct dnp_cfi *table)
{
	if (table)
		dnp_mem_unmap(table, table->mapped_bytes);
}

/* ---- Looking up */

/* The row at or before an offset, or UINT32_MAX. */
SIGSAFE static uint32_t row_at(const struct dnp_cfi *table, uint32_t offset)
{
	uint32_t piece = offset >> DNP_CFI_PIECE_BITS, low, high;

	if (piece >= table->pieces)
		return table->rows - 1;
	low = table->starts[piece];
	high = table->starts[piece + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->offsets[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

SIGSAFE struct dnp_rule dnp_cfi_find(const struct dnp_cfi *table, uint32_t offset)
{
	uint32_t row = row_at(table, offset);

	if (row == UINT32_MAX)
		return (struct dnp_rule){0};
	return table->rules[table->ids[row] & ~DNP_CFI_FUNCTION];
}

SIGSAFE bool dnp_cfi_function(const struct dnp_cfi *table, uint32_t offset, uint32_t *start)
{
	uint32_t row = row_at(table, offset);

	if (row == UINT32_MAX || table->ids[row] == 0)
		return false; /* before the first function, or in a gap */
	while (row > 0 && !(table->ids[row] & DNP_CFI_FUNCTION))
		row--;
	*start = table->offsets[row];
	return true;
}

/* ---- Without a table */

enum { HDR_COUNT_UDATA4 = 0x03, HDR_TABLE_DATAREL_SDATA4 = 0x3b, HDR_BYTES = 12 };

/* Of .eh_frame_hdr: one for each function, by ascending address, both relative to the header. */
struct hdr_entry {
	int32_t function, fde;
};

SIGSAFE static bool read_hdr_entry(uintptr_t hdr, uint32_t i, struct hdr_entry *entry)
{
	return !dnp_mem_read(hdr + HDR_BYTES + i * sizeof(*entry), entry, sizeof(*entry));
}

/*
 * *fde is where the entry of the last function is that begins at or before pc; 0: there is none.
 * Reads what linkers write: a pointer of four bytes, the number of entries, the entries.
 */
SIGSAFE static bool find_fde(uintptr_t hdr, uintptr_t pc, uintptr_t *fde)
{
	struct hdr_entry entry;
	uint8_t head[HDR_BYTES];
	uint32_t low = 0, high;

	*fde = 0;
	if (dnp_mem_read(hdr, head, sizeof(head)) || head[0] != 1 || (head[1] & 3) != 3 ||
		head[2] != HDR_COUNT_UDATA4 || head[3] != HDR_TABLE_DATAREL_SDATA4)
		return false;
	memcpy(&high, head + 8, sizeof(high));
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!read_hdr_entry(hdr, middle, &entry))
			return false;
		if (hdr + (uintptr_t)(intptr_t)entry.function <= pc) {
			*fde = hdr + (uintptr_t)(intptr_t)entry.fde;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return true;
}

/* Enough for nearly all; of a longer one the beginning, which may do. */
enum { CIE_BYTES = 64, FDE_BYTES = 512 };

/* Copies the entry at an address, or its beginning: *c is what follows its length. */
SIGSAFE static bool copy_entry(
	struct dnp_cfi_input *in, uintptr_t address, uint8_t *copy, size_t room, struct cursor *c)
{
	uint32_t length;

	in->address = address;
	in->bytes = copy;
	in->n = dnp_mem_read_some(address, copy, room);
	if (in->n < 8)
		return false;
	memcpy(&length, copy, sizeof(length));
	*c = (struct cursor){copy + 4, copy + in->n, length > in->n - 4};
	if (!c->bad)
		c->end = c->at + length;
	return true;
}

SIGSAFE bool dnp_cfi_look_up(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, struct dnp_rule *rule)
{
	struct dnp_cfi_input of_cie = {.hdr = hdr, .low = low, .high = high}, of_fde = of_cie;
	struct reader r = {.in = &of_cie};
	uint8_t cie[CIE_BYTES], bytes[FDE_BYTES];
	struct cursor c, ignored;
	uintptr_t at, back;
	struct fde fde;
	struct run run;
	bool cut;

	*rule = (struct dnp_rule){0};
	if (!find_fde(hdr, pc, &at))
		return false;
	if (!at)
		return true;
	if (!copy_entry(&of_fde, at, bytes, sizeof(bytes), &c))
		return false;
	cut = c.bad;
	c.bad = false;
	back = (uintptr_t)take(&c, 4);
	if (!copy_entry(&of_cie, at + 4 - back, cie, sizeof(cie), &ignored) ||
		!read_cie(&r, 0, &r.cie))
		return false;
	r.in = &of_fde;
	if (!read_function(&r, c, &fde))
		return false;
	if (pc - low >= fde.end)
		return true;
	begin_run(&run, &r, &fde, pc - low);
	if ((!run_code(&run, fde.code) || cut) && !run.over)
		return false;
	*rule = rule_of(&run.state, r.cie.signal);
	return true;
}
