/**
 * Reads a list's first batch, so that a failure is answered as such and not in the middle of a body.
 */
export async function begun<Row>(batches: AsyncGenerator<Row[]>): Promise<AsyncGenerator<Row[]>> {
  const { value: first } = await batches.next()
  return (async function* () {
    if (first !== undefined) yield first
    yield* batches
  })()
}

/** A list under way, and how many rows there are of it on all pages. */
export interface Found<Row> {
  readonly rows: AsyncGenerator<Row[]>
  readonly total: number
}
