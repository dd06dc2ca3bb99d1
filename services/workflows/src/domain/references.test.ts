import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fillConfiguration, fillSecrets, parseReferences, referencesIn } from './references.ts'

const secret = (values: Record<string, string>) => new Map(Object.entries(values))

describe('references', () => {
  it.each([
    ['plain', ['plain']],
    ['', []],
    ['a$b $ $$ $', ['a$b $ $$ $']],
    ['${config.A}', [{ kind: 'config', name: 'A' }]],
    [
      'x${config.a.b-c_1}y${secret.T}',
      ['x', { kind: 'config', name: 'a.b-c_1' }, 'y', { kind: 'secret', name: 'T' }],
    ],
    ['$${config.A}', ['${config.A}']],
    ['$$${config.A}', ['$${config.A}']],
    ['a}${config.A}}', ['a}', { kind: 'config', name: 'A' }, '}']],
  ])('%j is read as %j', (text, parts) => {
    expect(parseReferences(text)).toEqual({ parts, faults: [] })
  })

  it.each([
    '${',
    '${}',
    '${config}',
    '${config.}',
    '${config.A',
    '${ config.A}',
    '${config.A }',
    '${config.a b}',
    '${Config.A}',
    '${env.HOME}',
    '${config.${config.A}}',
    '${secret.${config.A}}',
    `\${config.${'a'.repeat(129)}}`,
    '${config..A}',
    '${config.\n}',
  ])('%j is malformed', (text) => {
    const { faults } = parseReferences(text)
    expect(faults[0]).toMatch(/^"\$\{.*" is no reference$/s)
  })

  it('are filled in once: what a value holds is text', () => {
    const values = { A: '${config.B} ${secret.S} $${x} $1 $&', B: 'no' }
    const planned = fillConfiguration('a=${config.A} ${secret.S}', values)
    expect(planned.missing).toEqual([])
    expect(referencesIn(planned.text)).toEqual([{ kind: 'secret', name: 'S' }])
    expect(fillSecrets(planned.text, secret({ S: '${secret.S}!' }))).toEqual({
      text: `a=${values.A} \${secret.S}!`,
      missing: [],
    })
  })

  it('name what is missing, also what every object has', () => {
    expect(fillConfiguration('${config.toString}${config.__proto__}${config.X}', {}).missing).toEqual([
      'toString',
      '__proto__',
      'X',
    ])
    expect(fillSecrets('${secret.X}', secret({})).missing).toEqual(['X'])
  })

  it('stay JSON within JSON, and are all of it alone', () => {
    const value = 'a"b\\\n${secret.S}'
    const planned = fillConfiguration('{"k": "${config.A}", "t": "${secret.S}"}', { A: value }, true)
    const text = fillSecrets(planned.text, secret({ S: '"}' }), true).text
    expect(JSON.parse(text)).toEqual({ k: value, t: '"}' })
    const whole = fillConfiguration('${config.A}', { A: '{"k": "${secret.S}"}' }, true)
    expect(JSON.parse(fillSecrets(whole.text, secret({}), true).text)).toEqual({ k: '${secret.S}' })
  })

  it('give back whatever text was escaped, and whatever value was filled in', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', '.', 'config', 'secret') }),
        (text) => {
          const planned = fillConfiguration('${config.A}', { A: text })
          expect(fillSecrets(planned.text, secret({})).text).toBe(text)
        },
      ),
    )
  })

  it('of a megabyte are read in one pass', () => {
    const text = '${config.'.repeat(100_000)
    expect(parseReferences(text).faults).toHaveLength(10)
    expect(parseReferences('$'.repeat(1_000_000)).parts).toEqual(['$'.repeat(1_000_000)])
  })
})
