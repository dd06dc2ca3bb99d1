import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { BlobKey, BlobStore } from '../../domain/results/blob-store.ts'

export interface S3Location {
  readonly bucket: string
  /** Without a slash at either end; may be empty. */
  readonly prefix: string
  /** Of a store that is not Amazon's. */
  readonly endpoint: string | undefined
}

/** Files of artifacts in object storage: `<prefix>/<spaceId>/<id>`. Credentials and region are the vendor's own variables. */
export class S3Store implements BlobStore {
  readonly #client: S3Client
  readonly #location: S3Location

  constructor(location: S3Location) {
    this.#location = location
    this.#client = new S3Client({
      // Of others not every one has names for buckets, or takes checksums behind the body.
      ...(location.endpoint === undefined
        ? {}
        : {
            endpoint: location.endpoint,
            forcePathStyle: true,
            requestChecksumCalculation: 'WHEN_REQUIRED' as const,
          }),
    })
  }

  async put(key: BlobKey, bytes: Readable, size: number): Promise<void> {
    await this.#client.send(new PutObjectCommand({ ...this.#at(key), Body: bytes, ContentLength: size }))
  }

  async read(key: BlobKey): Promise<Readable | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(this.#at(key)))
      return Body as Readable | undefined
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined
      throw error
    }
  }

  async remove(key: BlobKey): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(this.#at(key)))
  }

  close(): void {
    this.#client.destroy()
  }

  #at({ spaceId, blob }: BlobKey): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#location
    return { Bucket: bucket, Key: [...(prefix === '' ? [] : [prefix]), spaceId, blob].join('/') }
  }
}
