//! Error codes with their names and texts.

/// An error code of the driver. The runtime's are the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub i32);

/// `CUDA_ERROR_INVALID_VALUE`.
pub const INVALID_VALUE: Code = Code(1);
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: Code = Code(2);
/// `CUDA_ERROR_NOT_INITIALIZED`.
pub const NOT_INITIALIZED: Code = Code(3);
/// `CUDA_ERROR_NO_DEVICE`.
pub const NO_DEVICE: Code = Code(100);
/// `CUDA_ERROR_INVALID_DEVICE`.
pub const INVALID_DEVICE: Code = Code(101);
/// `CUDA_ERROR_INVALID_IMAGE`.
pub const INVALID_IMAGE: Code = Code(200);
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub const INVALID_CONTEXT: Code = Code(201);
/// `CUDA_ERROR_NO_BINARY_FOR_GPU`.
pub const NO_BINARY_FOR_GPU: Code = Code(209);
/// `CUDA_ERROR_UNSUPPORTED_LIMIT`.
pub const UNSUPPORTED_LIMIT: Code = Code(215);
/// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`.
pub const PEER_ACCESS_UNSUPPORTED: Code = Code(217);
/// `CUDA_ERROR_INVALID_PTX`.
pub const INVALID_PTX: Code = Code(218);
/// `CUDA_ERROR_FILE_NOT_FOUND`.
pub const FILE_NOT_FOUND: Code = Code(301);
/// `CUDA_ERROR_OPERATING_SYSTEM`.
pub const OPERATING_SYSTEM: Code = Code(304);
/// `CUDA_ERROR_INVALID_HANDLE`.
pub const INVALID_HANDLE: Code = Code(400);
/// `CUDA_ERROR_ILLEGAL_STATE`.
pub const ILLEGAL_STATE: Code = Code(401);
/// `CUDA_ERROR_NOT_FOUND`.
pub const NOT_FOUND: Code = Code(500);
/// `CUDA_ERROR_NOT_READY`.
pub const NOT_READY: Code = Code(600);
/// `CUDA_ERROR_ILLEGAL_ADDRESS`.
pub const ILLEGAL_ADDRESS: Code = Code(700);
/// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`.
pub const LAUNCH_OUT_OF_RESOURCES: Code = Code(701);
/// `CUDA_ERROR_LAUNCH_TIMEOUT`.
pub const LAUNCH_TIMEOUT: Code = Code(702);
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub const CONTEXT_IS_DESTROYED: Code = Code(709);
/// `CUDA_ERROR_ASSERT`.
pub const ASSERT: Code = Code(710);
/// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED`.
pub const HOST_MEMORY_ALREADY_REGISTERED: Code = Code(712);
/// `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED`.
pub const HOST_MEMORY_NOT_REGISTERED: Code = Code(713);
/// `CUDA_ERROR_HARDWARE_STACK_ERROR`.
pub const HARDWARE_STACK_ERROR: Code = Code(714);
/// `CUDA_ERROR_ILLEGAL_INSTRUCTION`.
pub const ILLEGAL_INSTRUCTION: Code = Code(715);
/// `CUDA_ERROR_MISALIGNED_ADDRESS`.
pub const MISALIGNED_ADDRESS: Code = Code(716);
/// `CUDA_ERROR_INVALID_ADDRESS_SPACE`.
pub const INVALID_ADDRESS_SPACE: Code = Code(717);
/// `CUDA_ERROR_INVALID_PC`.
pub const INVALID_PC: Code = Code(718);
/// `CUDA_ERROR_LAUNCH_FAILED`.
pub const LAUNCH_FAILED: Code = Code(719);
/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
pub const COOPERATIVE_LAUNCH_TOO_LARGE: Code = Code(720);
/// `CUDA_ERROR_NOT_SUPPORTED`.
pub const NOT_SUPPORTED: Code = Code(801);
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`.
pub const STREAM_CAPTURE_UNSUPPORTED: Code = Code(900);
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
pub const STREAM_CAPTURE_INVALIDATED: Code = Code(901);
/// `CUDA_ERROR_STREAM_CAPTURE_MERGE`.
pub const STREAM_CAPTURE_MERGE: Code = Code(902);
/// `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED`.
pub const STREAM_CAPTURE_UNMATCHED: Code = Code(903);
/// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`.
pub const STREAM_CAPTURE_UNJOINED: Code = Code(904);
/// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION`.
pub const STREAM_CAPTURE_ISOLATION: Code = Code(905);
/// `CUDA_ERROR_CAPTURED_EVENT`.
pub const CAPTURED_EVENT: Code = Code(907);
/// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`.
pub const GRAPH_EXEC_UPDATE_FAILURE: Code = Code(910);
/// `CUDA_ERROR_UNKNOWN`.
pub const UNKNOWN: Code = Code(999);
/// The runtime's `cudaErrorInvalidDeviceFunction`.
pub const INVALID_DEVICE_FUNCTION: Code = Code(98);
/// The runtime's `cudaErrorInvalidConfiguration`.
pub const INVALID_CONFIGURATION: Code = Code(9);
/// The runtime's `cudaErrorInvalidSymbol`.
pub const INVALID_SYMBOL: Code = Code(13);

/// Number, the driver's name, the runtime's name and what it means. All strings end with NUL for C.
const ALL: &[(i32, &str, &str, &str)] = &[
    (0, "CUDA_SUCCESS\0", "cudaSuccess\0", "no error\0"),
    (1, "CUDA_ERROR_INVALID_VALUE\0", "cudaErrorInvalidValue\0", "invalid argument\0"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY\0", "cudaErrorMemoryAllocation\0", "out of memory\0"),
    (3, "CUDA_ERROR_NOT_INITIALIZED\0", "cudaErrorInitializationError\0", "initialization error\0"),
    (4, "CUDA_ERROR_DEINITIALIZED\0", "cudaErrorCudartUnloading\0", "deinitialized\0"),
    (5, "CUDA_ERROR_PROFILER_DISABLED\0", "cudaErrorProfilerDisabled\0", "profiler disabled\0"),
    (
        6,
        "CUDA_ERROR_PROFILER_NOT_INITIALIZED\0",
        "cudaErrorProfilerNotInitialized\0",
        "profiler not initialized\0",
    ),
    (
        7,
        "CUDA_ERROR_PROFILER_ALREADY_STARTED\0",
        "cudaErrorProfilerAlreadyStarted\0",
        "profiler already started\0",
    ),
    (
        8,
        "CUDA_ERROR_PROFILER_ALREADY_STOPPED\0",
        "cudaErrorProfilerAlreadyStopped\0",
        "profiler already stopped\0",
    ),
    (9, "\0", "cudaErrorInvalidConfiguration\0", "invalid configuration\0"),
    (10, "\0", "cudaErrorVersionTranslation\0", "version translation\0"),
    (12, "\0", "cudaErrorInvalidPitchValue\0", "invalid pitch value\0"),
    (13, "\0", "cudaErrorInvalidSymbol\0", "invalid symbol\0"),
    (16, "\0", "cudaErrorInvalidHostPointer\0", "invalid host pointer\0"),
    (17, "\0", "cudaErrorInvalidDevicePointer\0", "invalid device pointer\0"),
    (18, "\0", "cudaErrorInvalidTexture\0", "invalid texture\0"),
    (19, "\0", "cudaErrorInvalidTextureBinding\0", "invalid texture binding\0"),
    (20, "\0", "cudaErrorInvalidChannelDescriptor\0", "invalid channel descriptor\0"),
    (21, "\0", "cudaErrorInvalidMemcpyDirection\0", "invalid memcpy direction\0"),
    (22, "\0", "cudaErrorAddressOfConstant\0", "address of constant\0"),
    (23, "\0", "cudaErrorTextureFetchFailed\0", "texture fetch failed\0"),
    (24, "\0", "cudaErrorTextureNotBound\0", "texture not bound\0"),
    (25, "\0", "cudaErrorSynchronizationError\0", "synchronization error\0"),
    (26, "\0", "cudaErrorInvalidFilterSetting\0", "invalid filter setting\0"),
    (27, "\0", "cudaErrorInvalidNormSetting\0", "invalid norm setting\0"),
    (28, "\0", "cudaErrorMixedDeviceExecution\0", "mixed device execution\0"),
    (31, "\0", "cudaErrorNotYetImplemented\0", "not yet implemented\0"),
    (32, "\0", "cudaErrorMemoryValueTooLarge\0", "memory value too large\0"),
    (34, "CUDA_ERROR_STUB_LIBRARY\0", "cudaErrorStubLibrary\0", "stub library\0"),
    (35, "\0", "cudaErrorInsufficientDriver\0", "insufficient driver\0"),
    (
        36,
        "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER\0",
        "cudaErrorCallRequiresNewerDriver\0",
        "call requires newer driver\0",
    ),
    (37, "\0", "cudaErrorInvalidSurface\0", "invalid surface\0"),
    (43, "\0", "cudaErrorDuplicateVariableName\0", "duplicate variable name\0"),
    (44, "\0", "cudaErrorDuplicateTextureName\0", "duplicate texture name\0"),
    (45, "\0", "cudaErrorDuplicateSurfaceName\0", "duplicate surface name\0"),
    (46, "CUDA_ERROR_DEVICE_UNAVAILABLE\0", "cudaErrorDevicesUnavailable\0", "device unavailable\0"),
    (47, "CUDA_ERROR_MULTICAST_RESOURCE_FULL\0", "\0", "multicast resource full\0"),
    (49, "\0", "cudaErrorIncompatibleDriverContext\0", "incompatible driver context\0"),
    (52, "\0", "cudaErrorMissingConfiguration\0", "missing configuration\0"),
    (53, "\0", "cudaErrorPriorLaunchFailure\0", "prior launch failure\0"),
    (65, "\0", "cudaErrorLaunchMaxDepthExceeded\0", "launch max depth exceeded\0"),
    (66, "\0", "cudaErrorLaunchFileScopedTex\0", "launch file scoped tex\0"),
    (67, "\0", "cudaErrorLaunchFileScopedSurf\0", "launch file scoped surf\0"),
    (68, "\0", "cudaErrorSyncDepthExceeded\0", "sync depth exceeded\0"),
    (69, "\0", "cudaErrorLaunchPendingCountExceeded\0", "launch pending count exceeded\0"),
    (98, "\0", "cudaErrorInvalidDeviceFunction\0", "invalid device function\0"),
    (100, "CUDA_ERROR_NO_DEVICE\0", "cudaErrorNoDevice\0", "no CUDA-capable device is detected\0"),
    (101, "CUDA_ERROR_INVALID_DEVICE\0", "cudaErrorInvalidDevice\0", "invalid device ordinal\0"),
    (102, "CUDA_ERROR_DEVICE_NOT_LICENSED\0", "cudaErrorDeviceNotLicensed\0", "device not licensed\0"),
    (103, "\0", "cudaErrorSoftwareValidityNotEstablished\0", "software validity not established\0"),
    (127, "\0", "cudaErrorStartupFailure\0", "startup failure\0"),
    (200, "CUDA_ERROR_INVALID_IMAGE\0", "cudaErrorInvalidKernelImage\0", "device kernel image is invalid\0"),
    (201, "CUDA_ERROR_INVALID_CONTEXT\0", "cudaErrorDeviceUninitialized\0", "invalid device context\0"),
    (202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT\0", "\0", "context already current\0"),
    (205, "CUDA_ERROR_MAP_FAILED\0", "cudaErrorMapBufferObjectFailed\0", "map failed\0"),
    (206, "CUDA_ERROR_UNMAP_FAILED\0", "cudaErrorUnmapBufferObjectFailed\0", "unmap failed\0"),
    (207, "CUDA_ERROR_ARRAY_IS_MAPPED\0", "cudaErrorArrayIsMapped\0", "array is mapped\0"),
    (208, "CUDA_ERROR_ALREADY_MAPPED\0", "cudaErrorAlreadyMapped\0", "already mapped\0"),
    (
        209,
        "CUDA_ERROR_NO_BINARY_FOR_GPU\0",
        "cudaErrorNoKernelImageForDevice\0",
        "no kernel image is available for execution on the device\0",
    ),
    (210, "CUDA_ERROR_ALREADY_ACQUIRED\0", "cudaErrorAlreadyAcquired\0", "already acquired\0"),
    (211, "CUDA_ERROR_NOT_MAPPED\0", "cudaErrorNotMapped\0", "not mapped\0"),
    (212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY\0", "cudaErrorNotMappedAsArray\0", "not mapped as array\0"),
    (213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER\0", "cudaErrorNotMappedAsPointer\0", "not mapped as pointer\0"),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE\0", "cudaErrorECCUncorrectable\0", "ECC uncorrectable\0"),
    (215, "CUDA_ERROR_UNSUPPORTED_LIMIT\0", "cudaErrorUnsupportedLimit\0", "unsupported limit\0"),
    (216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE\0", "cudaErrorDeviceAlreadyInUse\0", "context already in use\0"),
    (
        217,
        "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED\0",
        "cudaErrorPeerAccessUnsupported\0",
        "peer access unsupported\0",
    ),
    (218, "CUDA_ERROR_INVALID_PTX\0", "cudaErrorInvalidPtx\0", "a PTX JIT compilation failed\0"),
    (
        219,
        "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT\0",
        "cudaErrorInvalidGraphicsContext\0",
        "invalid graphics context\0",
    ),
    (220, "CUDA_ERROR_NVLINK_UNCORRECTABLE\0", "cudaErrorNvlinkUncorrectable\0", "nvlink uncorrectable\0"),
    (
        221,
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND\0",
        "cudaErrorJitCompilerNotFound\0",
        "JIT compiler not found\0",
    ),
    (
        222,
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION\0",
        "cudaErrorUnsupportedPtxVersion\0",
        "unsupported PTX version\0",
    ),
    (
        223,
        "CUDA_ERROR_JIT_COMPILATION_DISABLED\0",
        "cudaErrorJitCompilationDisabled\0",
        "JIT compilation disabled\0",
    ),
    (
        224,
        "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY\0",
        "cudaErrorUnsupportedExecAffinity\0",
        "unsupported exec affinity\0",
    ),
    (
        225,
        "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC\0",
        "cudaErrorUnsupportedDevSideSync\0",
        "unsupported devside sync\0",
    ),
    (226, "CUDA_ERROR_CONTAINED\0", "cudaErrorContained\0", "contained\0"),
    (
        227,
        "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION\0",
        "cudaErrorInsufficientLoaderVersion\0",
        "insufficient loader version\0",
    ),
    (300, "CUDA_ERROR_INVALID_SOURCE\0", "cudaErrorInvalidSource\0", "invalid source\0"),
    (301, "CUDA_ERROR_FILE_NOT_FOUND\0", "cudaErrorFileNotFound\0", "file not found\0"),
    (
        302,
        "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND\0",
        "cudaErrorSharedObjectSymbolNotFound\0",
        "shared object symbol not found\0",
    ),
    (
        303,
        "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED\0",
        "cudaErrorSharedObjectInitFailed\0",
        "shared object init failed\0",
    ),
    (304, "CUDA_ERROR_OPERATING_SYSTEM\0", "cudaErrorOperatingSystem\0", "operating system\0"),
    (400, "CUDA_ERROR_INVALID_HANDLE\0", "cudaErrorInvalidResourceHandle\0", "invalid resource handle\0"),
    (401, "CUDA_ERROR_ILLEGAL_STATE\0", "cudaErrorIllegalState\0", "illegal state\0"),
    (402, "CUDA_ERROR_LOSSY_QUERY\0", "cudaErrorLossyQuery\0", "lossy query\0"),
    (500, "CUDA_ERROR_NOT_FOUND\0", "cudaErrorSymbolNotFound\0", "named symbol not found\0"),
    (600, "CUDA_ERROR_NOT_READY\0", "cudaErrorNotReady\0", "device not ready\0"),
    (
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS\0",
        "cudaErrorIllegalAddress\0",
        "an illegal memory access was encountered\0",
    ),
    (
        701,
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\0",
        "cudaErrorLaunchOutOfResources\0",
        "too many resources requested for launch\0",
    ),
    (
        702,
        "CUDA_ERROR_LAUNCH_TIMEOUT\0",
        "cudaErrorLaunchTimeout\0",
        "the launch timed out and was terminated\0",
    ),
    (
        703,
        "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING\0",
        "cudaErrorLaunchIncompatibleTexturing\0",
        "launch incompatible texturing\0",
    ),
    (
        704,
        "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED\0",
        "cudaErrorPeerAccessAlreadyEnabled\0",
        "peer access already enabled\0",
    ),
    (
        705,
        "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED\0",
        "cudaErrorPeerAccessNotEnabled\0",
        "peer access not enabled\0",
    ),
    (708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE\0", "cudaErrorSetOnActiveProcess\0", "primary context active\0"),
    (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED\0", "cudaErrorContextIsDestroyed\0", "context is destroyed\0"),
    (710, "CUDA_ERROR_ASSERT\0", "cudaErrorAssert\0", "device-side assert triggered\0"),
    (711, "CUDA_ERROR_TOO_MANY_PEERS\0", "cudaErrorTooManyPeers\0", "too many peers\0"),
    (
        712,
        "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED\0",
        "cudaErrorHostMemoryAlreadyRegistered\0",
        "host memory already registered\0",
    ),
    (
        713,
        "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED\0",
        "cudaErrorHostMemoryNotRegistered\0",
        "host memory not registered\0",
    ),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR\0", "cudaErrorHardwareStackError\0", "hardware stack error\0"),
    (
        715,
        "CUDA_ERROR_ILLEGAL_INSTRUCTION\0",
        "cudaErrorIllegalInstruction\0",
        "an illegal instruction was encountered\0",
    ),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS\0", "cudaErrorMisalignedAddress\0", "misaligned address\0"),
    (
        717,
        "CUDA_ERROR_INVALID_ADDRESS_SPACE\0",
        "cudaErrorInvalidAddressSpace\0",
        "operation not supported on global/shared address space\0",
    ),
    (718, "CUDA_ERROR_INVALID_PC\0", "cudaErrorInvalidPc\0", "invalid program counter\0"),
    (719, "CUDA_ERROR_LAUNCH_FAILED\0", "cudaErrorLaunchFailure\0", "unspecified launch failure\0"),
    (
        720,
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE\0",
        "cudaErrorCooperativeLaunchTooLarge\0",
        "too many blocks in cooperative launch\0",
    ),
    (721, "CUDA_ERROR_TENSOR_MEMORY_LEAK\0", "cudaErrorTensorMemoryLeak\0", "tensor memory leak\0"),
    (800, "CUDA_ERROR_NOT_PERMITTED\0", "cudaErrorNotPermitted\0", "not permitted\0"),
    (801, "CUDA_ERROR_NOT_SUPPORTED\0", "cudaErrorNotSupported\0", "operation not supported\0"),
    (802, "CUDA_ERROR_SYSTEM_NOT_READY\0", "cudaErrorSystemNotReady\0", "system not ready\0"),
    (
        803,
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\0",
        "cudaErrorSystemDriverMismatch\0",
        "system driver mismatch\0",
    ),
    (
        804,
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE\0",
        "cudaErrorCompatNotSupportedOnDevice\0",
        "compat not supported on device\0",
    ),
    (805, "CUDA_ERROR_MPS_CONNECTION_FAILED\0", "cudaErrorMpsConnectionFailed\0", "MPS connection failed\0"),
    (806, "CUDA_ERROR_MPS_RPC_FAILURE\0", "cudaErrorMpsRpcFailure\0", "MPS rpc failure\0"),
    (807, "CUDA_ERROR_MPS_SERVER_NOT_READY\0", "cudaErrorMpsServerNotReady\0", "MPS server not ready\0"),
    (
        808,
        "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED\0",
        "cudaErrorMpsMaxClientsReached\0",
        "MPS max clients reached\0",
    ),
    (
        809,
        "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED\0",
        "cudaErrorMpsMaxConnectionsReached\0",
        "MPS max connections reached\0",
    ),
    (810, "CUDA_ERROR_MPS_CLIENT_TERMINATED\0", "cudaErrorMpsClientTerminated\0", "MPS client terminated\0"),
    (811, "CUDA_ERROR_CDP_NOT_SUPPORTED\0", "cudaErrorCdpNotSupported\0", "CDP not supported\0"),
    (812, "CUDA_ERROR_CDP_VERSION_MISMATCH\0", "cudaErrorCdpVersionMismatch\0", "CDP version mismatch\0"),
    (
        900,
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED\0",
        "cudaErrorStreamCaptureUnsupported\0",
        "operation not permitted when stream is capturing\0",
    ),
    (
        901,
        "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED\0",
        "cudaErrorStreamCaptureInvalidated\0",
        "stream capture invalidated\0",
    ),
    (902, "CUDA_ERROR_STREAM_CAPTURE_MERGE\0", "cudaErrorStreamCaptureMerge\0", "stream capture merge\0"),
    (
        903,
        "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED\0",
        "cudaErrorStreamCaptureUnmatched\0",
        "stream capture unmatched\0",
    ),
    (
        904,
        "CUDA_ERROR_STREAM_CAPTURE_UNJOINED\0",
        "cudaErrorStreamCaptureUnjoined\0",
        "stream capture unjoined\0",
    ),
    (
        905,
        "CUDA_ERROR_STREAM_CAPTURE_ISOLATION\0",
        "cudaErrorStreamCaptureIsolation\0",
        "stream capture isolation\0",
    ),
    (
        906,
        "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT\0",
        "cudaErrorStreamCaptureImplicit\0",
        "stream capture implicit\0",
    ),
    (907, "CUDA_ERROR_CAPTURED_EVENT\0", "cudaErrorCapturedEvent\0", "captured event\0"),
    (
        908,
        "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD\0",
        "cudaErrorStreamCaptureWrongThread\0",
        "stream capture wrong thread\0",
    ),
    (909, "CUDA_ERROR_TIMEOUT\0", "cudaErrorTimeout\0", "timeout\0"),
    (
        910,
        "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE\0",
        "cudaErrorGraphExecUpdateFailure\0",
        "graph exec update failure\0",
    ),
    (911, "CUDA_ERROR_EXTERNAL_DEVICE\0", "cudaErrorExternalDevice\0", "external device\0"),
    (912, "CUDA_ERROR_INVALID_CLUSTER_SIZE\0", "cudaErrorInvalidClusterSize\0", "invalid cluster size\0"),
    (913, "CUDA_ERROR_FUNCTION_NOT_LOADED\0", "cudaErrorFunctionNotLoaded\0", "function not loaded\0"),
    (914, "CUDA_ERROR_INVALID_RESOURCE_TYPE\0", "cudaErrorInvalidResourceType\0", "invalid resource type\0"),
    (
        915,
        "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\0",
        "cudaErrorInvalidResourceConfiguration\0",
        "invalid resource configuration\0",
    ),
    (916, "CUDA_ERROR_KEY_ROTATION\0", "\0", "key rotation\0"),
    (917, "CUDA_ERROR_STREAM_DETACHED\0", "cudaErrorStreamDetached\0", "stream detached\0"),
    (
        918,
        "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE\0",
        "cudaErrorGraphRecaptureFailure\0",
        "graph recapture failure\0",
    ),
    (919, "CUDA_ERROR_FABRIC_NOT_READY\0", "cudaErrorFabricNotReady\0", "fabric not ready\0"),
    (999, "CUDA_ERROR_UNKNOWN\0", "cudaErrorUnknown\0", "unknown error\0"),
    (10000, "\0", "cudaErrorApiFailureBase\0", "api failure base\0"),
];

fn find(code: i32) -> Option<&'static (i32, &'static str, &'static str, &'static str)> {
    ALL.iter().find(|row| row.0 == code)
}

/// The driver's name of a code, with its NUL.
pub fn c_name(code: i32) -> Option<&'static str> {
    find(code).map(|row| row.1).filter(|name| name.len() > 1)
}

/// The runtime's name of a code, with its NUL.
pub fn c_runtime_name(code: i32) -> &'static str {
    find(code).map(|row| row.2).filter(|name| name.len() > 1).unwrap_or("unrecognized error code\0")
}

/// What a code means, with its NUL.
pub fn c_text(code: i32) -> Option<&'static str> {
    find(code).map(|row| row.3)
}

/// The name of a code for messages.
pub fn name(code: i32) -> Option<&'static str> {
    find(code).map(|row| if row.1.len() > 1 { row.1 } else { row.2 }.trim_end_matches('\0'))
}
