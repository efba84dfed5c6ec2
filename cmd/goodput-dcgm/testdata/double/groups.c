/* Groups of entities, groups of fields, and what is watched. */
#include "script.h"

#include <stdio.h>
#include <string.h>

#define MAX 64

static struct { bool used; char name[64]; unsigned n; dcgmGroupEntityPair_t entities[512]; } groups[MAX];
static struct { bool used; char name[64]; int n; unsigned short fields[DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP]; } field_groups[MAX];
static bool watches[MAX][MAX];

/* Handles begin at 2, since DCGM has 0 and 1 for itself. */
#define GROUP(h) ((h) >= 2 && (h) < MAX + 2 && groups[(h) - 2].used)
#define FIELDS(h) ((h) >= 2 && (h) < MAX + 2 && field_groups[(h) - 2].used)

dcgmReturn_t dcgmGroupCreate(dcgmHandle_t handle, dcgmGroupType_t type, const char *name, dcgmGpuGrp_t *id) {
    (void)handle;
    ENTER(true, "type=%d name=%s", (int)type, name);
    for (int i = 0; i < MAX; i++) {
        if (groups[i].used) continue;
        groups[i].used = true, groups[i].n = 0;
        snprintf(groups[i].name, sizeof groups[i].name, "%s", name);
        *id = (dcgmGpuGrp_t)i + 2;
        return DCGM_ST_OK;
    }
    return DCGM_ST_MAX_LIMIT;
}

dcgmReturn_t dcgmGroupAddEntity(dcgmHandle_t handle, dcgmGpuGrp_t id, dcgm_field_entity_group_t group, dcgm_field_eid_t entity) {
    (void)handle;
    ENTER(true, "group=%d entity=%u", (int)group, entity);
    if (!GROUP(id)) return DCGM_ST_NOT_CONFIGURED;
    if (!entity_exists(group, entity)) return DCGM_ST_BADPARAM;
    if (groups[id - 2].n >= 512) return DCGM_ST_MAX_LIMIT;
    groups[id - 2].entities[groups[id - 2].n++] = (dcgmGroupEntityPair_t){group, entity};
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmGroupDestroy(dcgmHandle_t handle, dcgmGpuGrp_t id) {
    (void)handle;
    ENTER(true, "%s", "");
    if (!GROUP(id)) return DCGM_ST_NOT_CONFIGURED;
    groups[id - 2].used = false;
    memset(watches[id - 2], 0, sizeof watches[id - 2]);
    return DCGM_ST_OK;
}

/* One field that is not known spoils the group, as in the real one. */
dcgmReturn_t dcgmFieldGroupCreate(dcgmHandle_t handle, int n, const unsigned short *fields, const char *name, dcgmFieldGrp_t *id) {
    (void)handle;
    ENTER(true, "n=%d name=%s", n, name);
    if (n > DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP) return DCGM_ST_MAX_LIMIT;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < script.nunknown; k++)
            if (fields[i] == script.unknown[k]) return DCGM_ST_UNKNOWN_FIELD;
    for (int i = 0; i < MAX; i++)
        if (field_groups[i].used && strcmp(field_groups[i].name, name) == 0) return DCGM_ST_DUPLICATE_KEY;
    for (int i = 0; i < MAX; i++) {
        if (field_groups[i].used) continue;
        field_groups[i].used = true, field_groups[i].n = n;
        memcpy(field_groups[i].fields, fields, (size_t)n * sizeof *fields);
        snprintf(field_groups[i].name, sizeof field_groups[i].name, "%s", name);
        *id = (dcgmFieldGrp_t)i + 2;
        return DCGM_ST_OK;
    }
    return DCGM_ST_MAX_LIMIT;
}

dcgmReturn_t dcgmFieldGroupDestroy(dcgmHandle_t handle, dcgmFieldGrp_t id) {
    (void)handle;
    ENTER(true, "%s", "");
    if (!FIELDS(id)) return DCGM_ST_NO_DATA;
    field_groups[id - 2].used = false;
    for (int i = 0; i < MAX; i++) watches[i][id - 2] = false;
    return DCGM_ST_OK;
}

/* Profiling fields are watched by a module of their own, that may be missing or taken. */
static dcgmReturn_t watch_profiling(dcgmFieldGrp_t id) {
    for (int i = 0; i < field_groups[id - 2].n; i++)
        if (field_groups[id - 2].fields[i] >= 1000 && field_groups[id - 2].fields[i] < 1100) return enter("profiling", true, "%s", "watched");
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmWatchFields(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t fields, long long usec, double age, int samples) {
    (void)handle;
    ENTER(true, "fields=%d first=%d usec=%lld age=%g samples=%d", FIELDS(fields) ? field_groups[fields - 2].n : -1, FIELDS(fields) ? field_groups[fields - 2].fields[0] : -1, usec, age, samples);
    if (!GROUP(group) || !FIELDS(fields)) return DCGM_ST_NOT_CONFIGURED;
    dcgmReturn_t r = watch_profiling(fields);
    if (r == DCGM_ST_OK) watches[group - 2][fields - 2] = true;
    return r;
}

dcgmReturn_t dcgmUnwatchFields(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t fields) {
    (void)handle;
    ENTER(true, "%s", "");
    if (!GROUP(group) || !FIELDS(fields)) return DCGM_ST_NOT_CONFIGURED;
    watches[group - 2][fields - 2] = false;
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmUpdateAllFields(dcgmHandle_t handle, int wait) { (void)handle; ENTER(true, "wait=%d", wait); return DCGM_ST_OK; }

unsigned group_entities(dcgmGpuGrp_t id, const dcgmGroupEntityPair_t **entities) {
    if (!GROUP(id)) return 0;
    *entities = groups[id - 2].entities;
    return groups[id - 2].n;
}

static bool holds(int g, dcgm_field_entity_group_t group, unsigned id) {
    for (unsigned i = 0; i < groups[g].n; i++)
        if (groups[g].entities[i].entityGroupId == group && groups[g].entities[i].entityId == id) return true;
    return false;
}

bool watched(dcgm_field_entity_group_t group, unsigned id, unsigned short field) {
    for (int g = 0; g < MAX; g++)
        for (int f = 0; groups[g].used && f < MAX; f++) {
            if (!watches[g][f] || !holds(g, group, id)) continue;
            for (int i = 0; i < field_groups[f].n; i++)
                if (field_groups[f].fields[i] == field) return true;
        }
    return false;
}
