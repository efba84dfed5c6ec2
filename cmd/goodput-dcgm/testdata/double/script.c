#define _GNU_SOURCE
#include "script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

script_t script;

static bool in_session;
static dcgmReturn_t failure;
static long delay_ms;
static bool hole;

/* Nothing defines it: whoever calls it is ended by the dynamic loader, as by a library of another release. */
extern void dcgm_double_symbol_that_is_nowhere(void);

void session_is(bool open) { in_session = open; }

static int number_or_any(const char *s) { return strcmp(s, "*") == 0 ? ANY : atoi(s); }

static bool names(const char *pattern, const char *function) { return strcmp(pattern, "*") == 0 || strcmp(pattern, function) == 0; }

static void add(line_t l) {
    script.lines = realloc(script.lines, (size_t)(script.nlines + 1) * sizeof l);
    if (!script.lines) abort();
    script.lines[script.nlines++] = l;
}

/* field_line reads what is said about a field: "KIND card|instance ID FIELD REST". */
static bool field_line(const char *text) {
    static const struct { const char *name; kind_t kind; } kinds[] = {{"value", VALUE}, {"age", AGE}, {"status", STATUS}, {"xid", XID}};
    char kind[16], what[16], id[16], field[16], rest[256];
    if (sscanf(text, "%15s %15s %15s %15s %255[^\n]", kind, what, id, field, rest) != 5) return false;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, kind) != 0) continue;
        line_t l = {.kind = kinds[i].kind, .group = what[0] == 'i' ? DCGM_FE_GPU_I : strcmp(what, "card") == 0 ? DCGM_FE_GPU : DCGM_FE_GPU_CI, .id = number_or_any(id), .field = number_or_any(field)};
        if (l.kind == VALUE) {
            if (sscanf(rest, "%c %255[^\n]", &l.type, l.text) != 2) return false;
        } else {
            l.number = atoll(rest);
        }
        add(l);
        return true;
    }
    return false;
}

static bool profiling_line(char *text) {
    int card, used;
    if (sscanf(text, "profiling %d%n", &card, &used) != 1 || card < 0 || card >= DCGM_MAX_NUM_DEVICES) return false;
    for (char *p = strtok(text + used, " \n"); p; p = strtok(NULL, " \n"))
        if (script.nprofiling[card] < 64) script.profiling[card][script.nprofiling[card]++] = (unsigned short)atoi(p);
    return true;
}

static bool statement(char *text, const char *function) {
    char name[64];
    long long n;
    int id;
    instance_t in;
    if (text[0] == '\n' || text[0] == '#') return true;
    if (sscanf(text, "library %63s", script.library) == 1 || sscanf(text, "engine %63s", script.engine) == 1) return true;
    if (sscanf(text, "say %127[^\n]", script.say) == 1) return true;
    if (sscanf(text, "card %d", &id) == 1) { if (script.ncards < DCGM_MAX_NUM_DEVICES) script.cards[script.ncards++] = id; return true; }
    if (sscanf(text, "instance %d of %d gi %d", &in.id, &in.card, &in.gi) == 3) { if (script.ninstances < DCGM_MAX_HIERARCHY_INFO) script.instances[script.ninstances++] = in; return true; }
    if (sscanf(text, "state %d %lld", &id, &n) == 2 && id >= 0 && id < DCGM_MAX_NUM_DEVICES) { script.state[id] = (int)n; return true; }
    if (sscanf(text, "unknown %d", &id) == 1) { if (script.nunknown < 64) script.unknown[script.nunknown++] = (unsigned short)id; return true; }
    if (sscanf(text, "fail %63s %lld", name, &n) == 2) { if (names(name, function)) failure = (dcgmReturn_t)n; return true; }
    if (sscanf(text, "delay %63s %lld", name, &n) == 2) { if (names(name, function)) delay_ms = (long)n; return true; }
    if (sscanf(text, "hole %63s", name) == 1) { if (names(name, function)) hole = true; return true; }
    return profiling_line(text) || field_line(text);
}

static void read_script(const char *function) {
    free(script.lines);
    memset(&script, 0, sizeof script);
    failure = DCGM_ST_OK, delay_ms = 0, hole = false;
    snprintf(script.library, sizeof script.library, "4.6.1");
    const char *name = getenv("DCGM_DOUBLE_SCRIPT");
    FILE *f = name ? fopen(name, "r") : NULL;
    char text[512];
    if (!f) { fprintf(stderr, "double: no script at DCGM_DOUBLE_SCRIPT\n"); abort(); }
    while (fgets(text, sizeof text, f))
        if (!statement(text, function)) { fprintf(stderr, "double: not a statement: %s\n", text); abort(); }
    fclose(f);
    if (!script.engine[0]) snprintf(script.engine, sizeof script.engine, "%s", script.library);
}

static void note(const char *function, const char *format, va_list args) {
    const char *name = getenv("DCGM_DOUBLE_CALLS");
    FILE *f = name ? fopen(name, "a") : NULL;
    char text[1024];
    if (!f) return;
    vsnprintf(text, sizeof text, format, args);
    fprintf(f, "%s%s%s\n", function, text[0] ? " " : "", text);
    fclose(f);
}

// A library that hangs goes on hanging when its thread is the one that a signal of the process is handled on.
static void hang(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

dcgmReturn_t enter(const char *function, bool needs_session, const char *format, ...) {
    va_list args;
    read_script(function);
    va_start(args, format);
    note(function, format, args);
    va_end(args);
    hang(delay_ms);
    if (hole) dcgm_double_symbol_that_is_nowhere();
    if (needs_session && !in_session) return DCGM_ST_UNINITIALIZED;
    return failure;
}
