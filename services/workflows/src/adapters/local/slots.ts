/**
 * Shares free slots among spaces that have work: one each in turn, those that run least first, and none beyond its
 * share.
 * @param running tasks of each space that run in this process
 * @returns how many each may begin
 */
export function shareSlots(
  free: number,
  spaces: readonly string[],
  running: ReadonlyMap<string, number>,
  mostOfASpace: number,
): Map<string, number> {
  const given = new Map<string, number>()
  const held = (space: string): number => (running.get(space) ?? 0) + (given.get(space) ?? 0)
  for (let left = free; left > 0; left--) {
    let next: string | undefined
    for (const space of spaces) {
      if (held(space) < mostOfASpace && (next === undefined || held(space) < held(next))) next = space
    }
    if (next === undefined) break
    given.set(next, (given.get(next) ?? 0) + 1)
  }
  return given
}
