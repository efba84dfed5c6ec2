/* Begin and end of a session, and who is there. */
#include "script.h"

#include <stdio.h>

const char *errorString(dcgmReturn_t code) {
    switch ((int)code) {
    case DCGM_ST_OK: return "Success";
    case DCGM_ST_BADPARAM: return "Bad parameter passed to function";
    case DCGM_ST_NOT_SUPPORTED: return "This request is not supported by DCGM";
    case DCGM_ST_UNINITIALIZED: return "DCGM has not been initialized";
    case DCGM_ST_VER_MISMATCH: return "API version mismatch";
    case DCGM_ST_UNKNOWN_FIELD: return "Unknown field identifier";
    case DCGM_ST_GPU_IS_LOST: return "GPU is lost";
    case DCGM_ST_FUNCTION_NOT_FOUND: return "Function was not found in DCGM";
    case DCGM_ST_CONNECTION_NOT_VALID: return "Host engine connection invalid/disconnected";
    case DCGM_ST_DUPLICATE_KEY: return "Duplicate key passed to the function";
    case DCGM_ST_MODULE_NOT_LOADED: return "This request is serviced by a module of DCGM that is not currently loaded";
    case DCGM_ST_IN_USE: return "The requested operation could not be completed because the affected resource is in use";
    case DCGM_ST_PROFILING_LIBRARY_ERROR: return "The third-party Profiling module returned an unrecoverable error";
    default: return "Another error";
    }
}

dcgmReturn_t dcgmInit(void) {
    ENTER(false, "%s", "");
    if (script.say[0]) { puts(script.say); fflush(stdout); }
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmShutdown(void) { ENTER(false, "%s", ""); return DCGM_ST_OK; }

static dcgmReturn_t opened(dcgmHandle_t *handle) { session_is(true); *handle = 0x7fffffff; return DCGM_ST_OK; }

dcgmReturn_t dcgmStartEmbedded(dcgmOperationMode_t mode, dcgmHandle_t *handle) { ENTER(false, "mode=%d", (int)mode); return opened(handle); }

dcgmReturn_t dcgmStopEmbedded(dcgmHandle_t handle) { (void)handle; ENTER(true, "%s", ""); session_is(false); return DCGM_ST_OK; }

dcgmReturn_t dcgmConnect_v2(const char *address, dcgmConnectV2Params_t *p, dcgmHandle_t *handle) {
    ENTER(false, "address=%s socket=%u persist=%u", address, p->addressIsUnixSocket, p->persistAfterDisconnect);
    return p->version == dcgmConnectV2Params_version2 ? opened(handle) : DCGM_ST_VER_MISMATCH;
}

#ifndef WITHOUT_CONNECT_V3
dcgmReturn_t dcgmConnect_v3(const char *address, dcgmConnectV3Params_t *p, dcgmHandle_t *handle) {
    ENTER(false, "address=%s persist=%u", address, p->persistAfterDisconnect);
    return p->version == dcgmConnectV3Params_version1 ? opened(handle) : DCGM_ST_VER_MISMATCH;
}
#endif

dcgmReturn_t dcgmDisconnect(dcgmHandle_t handle) { (void)handle; ENTER(true, "%s", ""); session_is(false); return DCGM_ST_OK; }

static dcgmReturn_t version(dcgmVersionInfo_t *v, const char *text) {
    if (v->version != dcgmVersionInfo_version2) return DCGM_ST_VER_MISMATCH;
    snprintf(v->rawBuildInfoString, sizeof v->rawBuildInfoString, "version:%s;arch:x86_64;buildtype:Release;buildid:0", text);
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmVersionInfo(dcgmVersionInfo_t *v) { ENTER(false, "%s", ""); return version(v, script.library); }

#ifndef WITHOUT_ENGINE_VERSION
dcgmReturn_t dcgmHostengineVersionInfo(dcgmHandle_t handle, dcgmVersionInfo_t *v) { (void)handle; ENTER(true, "%s", ""); return version(v, script.engine); }
#endif

bool entity_exists(dcgm_field_entity_group_t group, unsigned id) {
    if (group == DCGM_FE_GPU) { for (int i = 0; i < script.ncards; i++) if (script.cards[i] == (int)id) return true; }
    if (group == DCGM_FE_GPU_I) { for (int i = 0; i < script.ninstances; i++) if (script.instances[i].id == (int)id) return true; }
    return group == DCGM_FE_GPU_CI && id >= COMPUTE && entity_exists(DCGM_FE_GPU_I, id - COMPUTE);
}

dcgmReturn_t dcgmGetEntityGroupEntities(dcgmHandle_t handle, dcgm_field_entity_group_t group, dcgm_field_eid_t *entities, int *n, unsigned flags) {
    (void)handle;
    ENTER(true, "group=%d flags=%u", (int)group, flags);
    if (*n < script.ncards) return DCGM_ST_INSUFFICIENT_SIZE;
    *n = group == DCGM_FE_GPU ? script.ncards : 0;
    for (int i = 0; i < *n; i++) entities[i] = (dcgm_field_eid_t)script.cards[i];
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmGetGpuStatus(dcgmHandle_t handle, unsigned card, DcgmEntityStatus_t *status) {
    (void)handle;
    ENTER(true, "card=%u", card);
    if (!entity_exists(DCGM_FE_GPU, card)) return DCGM_ST_BADPARAM;
    *status = script.state[card] ? (DcgmEntityStatus_t)script.state[card] : DcgmEntityStatusOk;
    return DCGM_ST_OK;
}

/* The real one lists compute instances too, as children of GPU instances. */
dcgmReturn_t dcgmGetGpuInstanceHierarchy(dcgmHandle_t handle, dcgmMigHierarchy_v2 *h) {
    (void)handle;
    ENTER(true, "%s", "");
    if (h->version != dcgmMigHierarchy_version2) return DCGM_ST_VER_MISMATCH;
    h->count = 0;
    for (int i = 0; i < script.ninstances && h->count + 2 <= DCGM_MAX_HIERARCHY_INFO; i++) {
        instance_t in = script.instances[i];
        dcgmGroupEntityPair_t card = {DCGM_FE_GPU, (dcgm_field_eid_t)in.card}, gi = {DCGM_FE_GPU_I, (dcgm_field_eid_t)in.id}, ci = {DCGM_FE_GPU_CI, (dcgm_field_eid_t)in.id + COMPUTE};
        h->entityList[h->count++] = (dcgmMigHierarchyInfo_v2){.entity = gi, .parent = card, .info = {.nvmlInstanceId = (unsigned)in.gi, .nvmlComputeInstanceId = (unsigned)-1}};
        h->entityList[h->count++] = (dcgmMigHierarchyInfo_v2){.entity = ci, .parent = gi, .info = {.nvmlInstanceId = (unsigned)in.gi}};
    }
    return DCGM_ST_OK;
}

dcgmReturn_t dcgmProfGetSupportedMetricGroups(dcgmHandle_t handle, dcgmProfGetMetricGroups_t *m) {
    (void)handle;
    ENTER(true, "card=%u", m->gpuId);
    if (m->version != dcgmProfGetMetricGroups_version3) return DCGM_ST_VER_MISMATCH;
    if (!entity_exists(DCGM_FE_GPU, m->gpuId)) return DCGM_ST_BADPARAM;
    int n = script.nprofiling[m->gpuId];
    if (!n) return DCGM_ST_MODULE_NOT_LOADED;
    m->numMetricGroups = 2; /* as on cards that measure them in turns: the fields are spread over groups */
    for (int g = 0; g < 2; g++) m->metricGroups[g].majorId = (unsigned short)g, m->metricGroups[g].minorId = 0, m->metricGroups[g].numFieldIds = 0;
    for (int i = 0; i < n; i++) { dcgmProfMetricGroupInfo_v2 *g = &m->metricGroups[i % 2]; g->fieldIds[g->numFieldIds++] = script.profiling[m->gpuId][i]; }
    return DCGM_ST_OK;
}
