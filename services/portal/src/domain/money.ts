import { invalidInput } from '@atrium/kernel/errors'
import { Decimal } from 'decimal.js'

// The library rounds sums to 20 digits by default; sums of money are never rounded here.
const Money = Decimal.clone({ precision: 1000 })

/** Plain decimal text without an exponent and without zeros at its end. */
export const plainDecimal = (text: string): string => new Money(text).toFixed()

/**
 * A budget as decimal text. It has at most 15 digits, which a double holds exactly.
 * @throws AppError 400 when it is negative, a thousand million or more, or has more than 6 decimal places
 */
export function parseBudget(field: string, value: number): string {
  const amount = new Money(value)
  if (!amount.isFinite()) throw invalidInput(field, 'must be a finite number')
  if (amount.isNegative() && !amount.isZero()) throw invalidInput(field, 'must not be negative')
  if (amount.gte('1e9')) throw invalidInput(field, 'must have at most 9 digits before the decimal point')
  if (amount.decimalPlaces() > 6) throw invalidInput(field, 'must have at most 6 decimal places')
  return amount.abs().toFixed()
}

/** What is left of a budget, never below zero. */
export const leftOf = (budget: string, spent: string): string =>
  Money.max(0, new Money(budget).minus(spent)).toFixed()

export const sumOf = (amounts: readonly string[]): string =>
  amounts.reduce((total, amount) => total.plus(amount), new Money(0)).toFixed()

/**
 * Reads an amount as it was written.
 * @throws AppError 400 when it is negative or has more than 12 digits on either side of the point
 */
export function parseAmount(field: string, text: string): string {
  const amount = new Money(text)
  if (!amount.isFinite()) throw invalidInput(field, 'must be a finite number')
  if (amount.isNegative() && !amount.isZero()) throw invalidInput(field, 'must not be negative')
  if (amount.gte('1e12')) throw invalidInput(field, 'must have at most 12 digits before the decimal point')
  if (amount.decimalPlaces() > 12) throw invalidInput(field, 'must have at most 12 decimal places')
  return amount.abs().toFixed()
}
