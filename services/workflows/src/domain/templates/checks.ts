import { isInnerPath, isRevision, parseGitAddress } from '../git-address.ts'
import { splitWords } from './words.ts'

/** Checks of arguments: undefined where a value is good, else why not. */
export type Check = (value: string) => string | undefined

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are refused
const CONTROL = /[\x00-\x1f\x7f]/

/** @param most the largest, inclusive */
export const wholeNumber =
  (least: number, most: number): Check =>
  (value) =>
    /^\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `must be a whole number from ${least} to ${most}`

/** @param most the largest, inclusive */
export const number =
  (least: number, most: number): Check =>
  (value) =>
    /^\d{1,10}(?:\.\d{1,6})?$/.test(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `must be a number from ${least} to ${most}`

/** A path within the workspace. What it leads to through links is for the one who opens it. */
export const pathWithin: Check = (value) =>
  isInnerPath(value) ? undefined : 'must be a path within the workspace, like src/main.py, without ..'

/** One line of text that no program takes for an option. */
export const word = (most: number): Check => {
  return (value) => {
    if (value === '' || value.length > most || CONTROL.test(value))
      return `must be 1 to ${most} characters on one line`
    return value.startsWith('-') ? 'must not begin with -' : undefined
  }
}

export const gitRevision: Check = (value) =>
  isRevision(value) ? undefined : 'must be a branch, a tag or a commit'

/** Which servers may be reached, and whether files, is for the one who fetches. */
export const gitRepository: Check = (value) => {
  const address = parseGitAddress(value, { allowsFile: true })
  return typeof address === 'string' ? address : undefined
}

export const httpAddress: Check = (value) => {
  const isGood = value.length <= 2048 && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
  if (!isGood) return 'must be an http or https address'
  const { username, password } = new URL(value)
  return username === '' && password === '' ? undefined : 'must not hold a user or password'
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const jsonObject: Check = (value) => (isObject(parsed(value)) ? undefined : 'must be a JSON object')

/** A JSON object of environment variables. The platform's own names stay the platform's. */
export const environment: Check = (value) => {
  const object = parsed(value)
  if (!isObject(object) || !Object.values(object).every((one) => typeof one === 'string'))
    return 'must be a JSON object of strings'
  const wrong = Object.keys(object).find(
    (name) => !/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) || name.startsWith('ATRIUM_'),
  )
  return wrong === undefined
    ? undefined
    : `must not name ${JSON.stringify(wrong.slice(0, 40))}: a variable is letters, digits and _, and not ATRIUM_…`
}

/** Words with quotes, as a script gets them. */
export const commandLine: Check = (value) =>
  splitWords(value) === undefined ? 'a quote has no end' : undefined
