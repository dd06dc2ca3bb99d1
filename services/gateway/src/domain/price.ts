/** 10^12 pico-units make one unit of the currency; prices per million tokens with six decimals are exact. */
const PICO_DIGITS = 12

/** Tokens of one call. Cached ones are part of the prompt. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  /** Counted by the gateway because the backend did not say. */
  readonly estimated: boolean
}

/** Pico-units of the currency for one token. */
export interface Price {
  readonly input: bigint
  readonly cachedInput: bigint
  readonly output: bigint
}

export const FREE: Price = { input: 0n, cachedInput: 0n, output: 0n }

/** @param perMillion decimal text, at most six digits after the point: units for 1,000,000 tokens */
export function picoPerToken(perMillion: string): bigint {
  const [whole = '0', fraction = ''] = perMillion.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}

/** What a call costs, in pico-units. */
export const costOf = (usage: Usage, price: Price): bigint =>
  BigInt(usage.promptTokens - usage.cachedTokens) * price.input +
  BigInt(usage.cachedTokens) * price.cachedInput +
  BigInt(usage.completionTokens) * price.output

/** Decimal text as pico-units; digits beyond the twelfth after the point are cut off. '-0.0000015' → -1500000n. */
export function picoOfDecimal(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.slice(0, PICO_DIGITS).padEnd(PICO_DIGITS, '0'))
}

/** Pico-units as decimal text, without zeros at its end: 1500000n → '0.0000015'. */
export function decimalOfPico(pico: bigint): string {
  const digits = pico.toString().padStart(PICO_DIGITS + 1, '0')
  const fraction = digits.slice(-PICO_DIGITS).replace(/0+$/, '')
  const whole = digits.slice(0, -PICO_DIGITS)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
