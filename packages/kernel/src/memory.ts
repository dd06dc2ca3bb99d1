/** Frees memory that nobody reads any more. What threads share is not freed. */
export function free(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer && !memory.detached) memory.transfer(0)
}

/** Frees the memory of bytes that nobody reads any more, where it is theirs alone. */
export function release(bytes: Uint8Array): void {
  if (bytes.byteLength === bytes.buffer.byteLength) free(bytes.buffer)
}
