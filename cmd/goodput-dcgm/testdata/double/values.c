/* What is read. */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* said is the last statement of a kind about a field, or NULL. */
static const line_t *said(kind_t kind, dcgm_field_entity_group_t group, unsigned id, unsigned short field) {
    for (int i = script.nlines - 1; i >= 0; i--) {
        const line_t *l = &script.lines[i];
        if (l->kind == kind && l->group == group && (l->id == ANY || l->id == (int)id) && (l->field == ANY || l->field == field)) return l;
    }
    return NULL;
}

static const char *const blanks[BLANKS] = {"NULL", "NOT_FOUND", "NOT_SUPPORTED", "NOT_PERM"};

static int blank(const char *text) {
    for (int i = 0; i < BLANKS; i++) if (strcmp(blanks[i], text) == 0) return i;
    return -1;
}

static void put(dcgmFieldValue_v2 *v, char type, const char *text) {
    int b = blank(text);
    v->fieldType = (unsigned short)type;
    if (type == DCGM_FT_DOUBLE) v->value.dbl = b < 0 ? atof(text) : DCGM_FP64_BLANK + b;
    else if (type == DCGM_FT_STRING) snprintf(v->value.str, sizeof v->value.str, b < 0 ? "%s" : "<<<%s>>>", text);
    else v->value.i64 = b < 0 ? strtoll(text, NULL, 0) : DCGM_INT64_BLANK + b;
}

/* A blank comes with the status ok, as from the real one, and so do all values of a lost card but the last
 * XID, which nobody samples; what nobody watches comes with a status. */
static void fill(dcgmFieldValue_v2 *v, dcgm_field_entity_group_t group, unsigned id, unsigned short field) {
    memset(v, 0, sizeof *v);
    v->version = dcgmFieldValue_version2, v->entityGroupId = group, v->entityId = id, v->fieldId = field;
    const line_t *value = said(VALUE, group, id, field), *age = said(AGE, group, id, field), *status = said(STATUS, group, id, field);
    bool lost = group == DCGM_FE_GPU && id < DCGM_MAX_NUM_DEVICES && script.state[id] == DcgmEntityStatusLost && field != DCGM_FI_DEV_XID_ERROR;
    v->ts = now_us() - (age ? age->number * 1000 : 0);
    if (value) put(v, value->type, lost ? "NULL" : value->text);
    else put(v, DCGM_FT_INT64, "NOT_SUPPORTED");
    if (!entity_exists(group, id)) v->status = DCGM_ST_BADPARAM;
    else if (status) v->status = (int)status->number;
    else if (!watched(group, id, field)) v->status = DCGM_ST_NOT_WATCHED;
    if (v->status == DCGM_ST_NOT_WATCHED) v->ts = 0;
}

/* The order in which entities come back is not promised: here it is the reverse. */
dcgmReturn_t dcgmEntitiesGetLatestValues(dcgmHandle_t handle, dcgmGroupEntityPair_t *e, unsigned ne, unsigned short *f, unsigned nf, unsigned flags, dcgmFieldValue_v2 *v) {
    (void)handle;
    ENTER(true, "entities=%u fields=%u flags=%u", ne, nf, flags);
    for (unsigned i = 0; i < ne; i++)
        for (unsigned j = 0; j < nf; j++) fill(v++, e[ne - 1 - i].entityGroupId, e[ne - 1 - i].entityId, f[j]);
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmGetValuesSince_v2(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t fields, long long since, long long *next, dcgmFieldValueEntityEnumeration_f each, void *data) {
    (void)handle, (void)fields;
    ENTER(true, "since=%lld", since);
    const dcgmGroupEntityPair_t *e = NULL;
    unsigned n = group_entities(group, &e);
    *next = since;
    for (unsigned i = 0; i < n; i++)
        for (int k = 0; k < script.nlines; k++) {
            const line_t *l = &script.lines[k];
            if (l->kind != XID || l->group != e[i].entityGroupId || l->id != (int)e[i].entityId || l->number < since) continue;
            dcgmFieldValue_v1 v = {.version = dcgmFieldValue_version1, .fieldId = DCGM_FI_DEV_XID_ERROR, .fieldType = DCGM_FT_INT64, .ts = l->number};
            v.value.i64 = l->field;
            if (l->number >= *next) *next = l->number + 1;
            if (each(e[i].entityGroupId, e[i].entityId, &v, 1, data) != 0) return DCGM_ST_OK;
        }
    return DCGM_ST_OK;
}
