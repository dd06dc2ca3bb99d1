/** A month in UTC, as first day and the first day after it. */
export interface MonthSpan {
  readonly from: string
  readonly until: string
}

/** @param month `YYYY-MM`, already checked */
export function spanOf(month: string): MonthSpan {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const until =
    number === 12
      ? `${String(year + 1).padStart(4, '0')}-01-01`
      : `${String(year).padStart(4, '0')}-${String(number + 1).padStart(2, '0')}-01`
  return { from: `${month}-01`, until }
}
