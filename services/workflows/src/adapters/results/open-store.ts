import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import type { BlobStore } from '../../domain/results/blob-store.ts'
import { FolderStore } from './folder-store.ts'
import { S3Store } from './s3-store.ts'

export interface StoreSettings {
  /** A folder, or `s3://bucket/path`; undefined: the folder `artifacts` of the data folder. */
  readonly uri: string | undefined
  readonly dataDir: string
  readonly endpoint: string | undefined
}

/** @throws OperatorError when the address is none of a folder or bucket */
export function openBlobStore({ uri, dataDir, endpoint }: StoreSettings): BlobStore {
  if (uri === undefined) return new FolderStore(path.join(dataDir, 'artifacts'))
  const [, scheme, rest = ''] = /^([a-z0-9]+):\/\/(.*)$/.exec(uri) ?? []
  if (scheme === undefined) return new FolderStore(path.resolve(uri))
  const [bucket = '', ...parts] = rest.split('/')
  if (scheme !== 's3' || bucket === '') {
    throw new OperatorError(`ATRIUM_ARTIFACTS_URI=${uri}: must be a folder or s3://bucket/path`)
  }
  return new S3Store({ bucket, prefix: parts.filter((part) => part !== '').join('/'), endpoint })
}
