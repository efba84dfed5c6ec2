/* A double of libdcgm.so.4: what goodput-dcgm calls, without a GPU and without a host engine.
 *
 * What it answers is a script, the file named by DCGM_DOUBLE_SCRIPT. It is read anew at every call, so that a test can
 * change the world between two ticks. A line is one statement; * stands for every id or every field:
 *
 *   library 4.6.1                               what dcgmVersionInfo says
 *   engine 4.6.0                                what dcgmHostengineVersionInfo says
 *   card 0                                      a card
 *   instance 3 of 0 gi 7                        a MIG instance: entity id, its card, NVML's id within the card; it has one
 *                                               compute instance, with an entity id that is higher by COMPUTE
 *   value card 0 155 d 412.5                    a value: i, d, s, or t, and NULL, NOT_FOUND, NOT_SUPPORTED, NOT_PERM for a blank
 *   age card 0 155 60000                        sampled so many milliseconds ago; without it: just now
 *   status card 0 155 -18                       the value's own return code
 *   state 0 4                                   what dcgmGetGpuStatus says of a card, DcgmEntityStatus_t; 4 is lost
 *   xid card 0 31 1790000000000000              an event: entity (compute too), number, microseconds since 1970
 *   profiling 0 1001 1002                       the profiling fields of a card; a card without: module not loaded
 *   unknown 1523                                a field that this release does not know
 *   fail dcgmConnect_v2 -21                     a function's return code; fail * is a dead engine
 *   delay dcgmEntitiesGetLatestValues 60000     milliseconds that a function takes first
 *   hole dcgmConnect_v2                         the function needs a symbol that is nowhere: the loader ends the process
 *   say text                                    printed on stdout by dcgmInit
 *
 * Every call is written to the file named by DCGM_DOUBLE_CALLS, one a line, with what the tests look at. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "dcgm_agent.h"
#include "dcgm_fields.h"
#include "dcgm_structs.h"

#define ANY (-1)
#define BLANKS 4
#define COMPUTE 100

typedef enum { VALUE, AGE, STATUS, XID } kind_t;

/* line_t is one statement about a field of an entity. */
typedef struct {
    kind_t kind;
    dcgm_field_entity_group_t group;
    int id, field;        /* ANY: all */
    char type, text[256]; /* VALUE */
    long long number;     /* AGE: milliseconds, STATUS: code, XID: microseconds (and field is the XID) */
} line_t;

typedef struct { int id, card, gi; } instance_t;

typedef struct {
    char library[64], engine[64], say[128];
    int cards[DCGM_MAX_NUM_DEVICES], ncards, state[DCGM_MAX_NUM_DEVICES];
    instance_t instances[DCGM_MAX_HIERARCHY_INFO];
    int ninstances;
    unsigned short profiling[DCGM_MAX_NUM_DEVICES][64];
    int nprofiling[DCGM_MAX_NUM_DEVICES];
    unsigned short unknown[64];
    int nunknown;
    line_t *lines;
    int nlines;
} script_t;

/* script is the world as it is now: enter has read it. */
extern script_t script;

/* enter is the first thing that every function does: it reads the script, notes the call, and waits, fails or dies if the
 * script says so. Without a session everything but what makes one fails. */
dcgmReturn_t enter(const char *function, bool needs_session, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define ENTER(session, ...) do { dcgmReturn_t r_ = enter(__func__, session, __VA_ARGS__); if (r_ != DCGM_ST_OK) return r_; } while (0)

/* session_is opens and closes the session. */
void session_is(bool open);

bool entity_exists(dcgm_field_entity_group_t group, unsigned id);
bool watched(dcgm_field_entity_group_t group, unsigned id, unsigned short field);
unsigned group_entities(dcgmGpuGrp_t group, const dcgmGroupEntityPair_t **entities);

#endif
