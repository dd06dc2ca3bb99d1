/** Vectors in one request. */
export const MAX_BATCH = 2048
/** Bytes of the body of one request: 2,048 vectors of 1,536 numbers, or 1,000 of 3,072, as JSON. */
export const MAX_BATCH_BYTES = 64 * 1024 * 1024
