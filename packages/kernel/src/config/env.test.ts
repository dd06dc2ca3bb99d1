import { describe, expect, expectTypeOf, it } from 'vitest'
import { type EnvValues, envDocs, parseEnv, variable } from './env.ts'

const schema = {
  PORT: variable.integer('Port', { fallback: 8080, minimum: 1, maximum: 65535 }),
  URL: variable.string('Address', { pattern: '^https?://' }),
  SECRET: variable.string('Secret', { secret: true, pattern: '^[a-z]+$' }),
  ON: variable.boolean('Switch', { fallback: true }),
  NAMES: variable.list('Names'),
  MODE: variable.choice('Mode', ['auto', 'on', 'off'], { fallback: 'auto' }),
}

describe('parseEnv', () => {
  it('reads fallbacks, and an empty variable as unset', () => {
    expect(parseEnv(schema, { PORT: '', NAMES: ' a, b ,' })).toEqual({
      PORT: 8080,
      URL: undefined,
      SECRET: undefined,
      ON: true,
      NAMES: ['a', 'b'],
      MODE: 'auto',
    })
  })

  it('names every wrong variable with the reason, and never echoes a secret', () => {
    const read = () =>
      parseEnv(schema, { PORT: '0x10', URL: 'ftp://a', SECRET: 'S3CRET', ON: 'maybe', MODE: 'x' })
    expect(read).toThrow('PORT=0x10: must be a whole number from 1 to 65535')
    expect(read).toThrow('URL=ftp://a: must match ^https?://')
    expect(read).toThrow('SECRET: must match')
    expect(read).toThrow('ON=maybe: must be true or false')
    expect(read).toThrow('MODE=x: must be one of auto, on, off')
    expect(read).not.toThrow('S3CRET')
  })
})

describe('EnvValues', () => {
  it('are never undefined where there is a fallback', () => {
    expectTypeOf<EnvValues<typeof schema>>().toEqualTypeOf<{
      readonly PORT: number
      readonly URL: string | undefined
      readonly SECRET: string | undefined
      readonly ON: boolean
      readonly NAMES: string[]
      readonly MODE: 'auto' | 'on' | 'off'
    }>()
  })
})

describe('envDocs', () => {
  it('lists each variable with its fallback', () => {
    expect(envDocs(schema)[0]).toEqual({ name: 'PORT', fallback: '8080', about: 'Port' })
  })
})
