/**
 * Reads a list's first batch, so that a failure or an unknown parent is answered as such and not in the middle of a
 * body.
 * @param onEmpty called when there is none, to say why; may throw
 */
export async function begun<Row>(
  batches: AsyncGenerator<Row[]>,
  onEmpty: () => Promise<void> = async () => {},
): Promise<AsyncGenerator<Row[]>> {
  const { value: first } = await batches.next()
  if (first === undefined || first.length === 0) await onEmpty()
  return (async function* () {
    if (first !== undefined) yield first
    yield* batches
  })()
}
