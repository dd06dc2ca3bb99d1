import mime from 'mime-types'

/** Of an artifact, by the ending of its name; what is not known is bytes. */
export const mediaTypeOf = (path: string): string => mime.lookup(path) || 'application/octet-stream'
