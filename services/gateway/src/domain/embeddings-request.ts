import { Compile } from 'typebox/compile'
import { type EmbeddingsInput, EmbeddingsRequest } from '../contract/embeddings.ts'
import { invalidField, invalidInputValue, missingField } from '../errors.ts'
import { checkRequest } from './request-check.ts'
import type { Prompt } from './token-counter.ts'

/** OpenAI's limit. */
const MAX_INPUTS = 2048

const validator = Compile(EmbeddingsRequest)

/**
 * The body as an embeddings request.
 * @throws AppError 400 without `model` or `input`, with an empty input or too many; 422 naming the field that is wrong
 */
export function checkEmbeddingsRequest(value: unknown): EmbeddingsRequest {
  const input = typeof value === 'object' && value !== null && 'input' in value ? value.input : undefined
  // Lists are measured before their items are looked at.
  if (Array.isArray(input) && typeof input[0] !== 'number' && input.length > MAX_INPUTS) {
    throw invalidInputValue('input', `has ${input.length} entries, at most ${MAX_INPUTS} are allowed`)
  }
  if (input === null) throw missingField('input')
  if (validator.Check(value)) {
    demandContent(value.input)
    return value
  }
  const request = checkRequest(validator, ['model', 'input'], withoutInput(value))
  throw invalidField(
    'input',
    `must be a string, a list of strings, a list of token numbers, or a list of such lists (model ${request.model})`,
  )
}

/** The alternatives of `input` would each give errors of their own; the other fields' are told first. */
const withoutInput = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'input' in value
    ? { ...value, input: '' }
    : value

function demandContent(input: EmbeddingsInput): void {
  if (input.length === 0) throw invalidInputValue('input', 'must not be empty')
  if (typeof input === 'string') return
  const empty = input.findIndex((item) => typeof item !== 'number' && item.length === 0)
  if (empty !== -1) throw invalidInputValue(`input[${empty}]`, 'must not be empty')
}

/** The inputs one by one: text, or token numbers. */
export function inputsOf({ input }: EmbeddingsRequest): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input]
  return isTokens(input) ? [input] : input
}

const isTokens = (input: Exclude<EmbeddingsInput, string>): input is number[] => typeof input[0] === 'number'

/** What the model reads; token numbers need no counting. */
export function promptOfInputs(request: EmbeddingsRequest): Prompt {
  const texts: string[] = []
  let framing = 0
  for (const input of inputsOf(request)) {
    if (typeof input === 'string') texts.push(input)
    else framing += input.length
  }
  return { text: texts.join('\n'), framing }
}
