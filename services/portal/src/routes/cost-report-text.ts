import type { CurrencyReport, Pause, ServiceCost } from '../domain/costs.ts'

/** Services that are written at once, before others get their turn. */
const SERVICES_A_PIECE = 50

interface Heading {
  readonly spaceId: string
  readonly month: string
  readonly generatedAt: string
}

/** Amounts stand in the text with exactly the digits that were summed: a double would lose some. */
function serviceText({ service, total, days }: ServiceCost, includeDetails: boolean): string {
  const position = ({ day, amount }: ServiceCost['days'][number]): string =>
    `{"day":${JSON.stringify(day)},"calculatedCost":${amount}}`
  const positions = includeDetails ? `,"billingPositions":[${days.map(position).join(',')}]` : ''
  return `{"service":${JSON.stringify(service)},"totalCost":${total}${positions}}`
}

/** A report as JSON, its services piece by piece. */
async function reportText(
  { currency, services, overall }: CurrencyReport,
  { spaceId, month, generatedAt }: Heading,
  includeDetails: boolean,
  pause: Pause,
): Promise<string> {
  const written: string[] = []
  const totals: string[] = []
  for (let at = 0; at < services.length; at += SERVICES_A_PIECE) {
    await pause()
    const piece = services.slice(at, at + SERVICES_A_PIECE)
    written.push(piece.map((one) => serviceText(one, includeDetails)).join(','))
    totals.push(piece.map(({ service, total }) => `${JSON.stringify(service)}:${total}`).join(','))
  }
  const head = JSON.stringify({ spaceId, month, currency }).slice(0, -1)
  const sums = `"totals":{"overallCost":${overall},"services":{${totals.join(',')}}}`
  return `${head},"services":[${written.join(',')}],${sums},"generatedAt":${JSON.stringify(generatedAt)}}`
}

/** The main report, and where there are several currencies all of them below it. */
export async function reportsText(
  reports: readonly CurrencyReport[],
  heading: Heading,
  includeDetails: boolean,
  pause: Pause,
): Promise<string> {
  const texts: string[] = []
  for (const report of reports) texts.push(await reportText(report, heading, includeDetails, pause))
  const [main = '{}', ...others] = texts
  return others.length === 0 ? main : `${main.slice(0, -1)},"reports":[${texts.join(',')}]}`
}
