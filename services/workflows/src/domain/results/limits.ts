/** Of one attempt of a task. */
export const LOG_BYTES = 64 * 1024 * 1024
export const METRIC_POINTS = 100_000
/** Of a run. */
export const ARTIFACT_FILES = 1000
export const ARTIFACT_BYTES = 1024 * 1024 * 1024

export const LOG_CUT = `The log ends here: it has reached ${LOG_BYTES / 1024 / 1024} MiB\n`

const LONGEST_PATH = 512

/** @returns why an artifact cannot have this path; undefined when it can */
export function faultOfPath(path: string): string | undefined {
  if (path.length > LONGEST_PATH) return `its path is longer than ${LONGEST_PATH} characters`
  if (!path.isWellFormed() || /[\p{Cc}\p{Zl}\p{Zp}\\]/u.test(path))
    return 'its path holds control characters or \\'
  const isInner = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  return isInner ? undefined : 'its path leads elsewhere'
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MiB`

interface Use {
  readonly files: number
  readonly bytes: number
  readonly bytesOfSpace: number
}

/** @param most in bytes @returns why a run cannot keep one more file of this size; undefined when it can */
export function faultOfUse(
  { files, bytes, bytesOfSpace }: Use,
  size: number,
  most: { readonly ofRun: number; readonly ofSpace: number },
): string | undefined {
  const fault = (whose: string, used: number, largest: number): string | undefined =>
    used + size > largest
      ? `${whose} keeps ${mebibytes(largest)} at most; there are ${mebibytes(used)} already, and it has ${mebibytes(size)}`
      : undefined
  if (files + 1 > ARTIFACT_FILES) return `a run keeps ${ARTIFACT_FILES} files at most`
  return fault('a run', bytes, most.ofRun) ?? fault('a space', bytesOfSpace, most.ofSpace)
}
