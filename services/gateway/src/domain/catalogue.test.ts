import { OperatorError } from '@atrium/kernel/errors'
import { expect, test } from 'vitest'
import { builtInCatalogue, loadCatalogue, parseCatalogue } from './catalogue.ts'

const good = {
  name: 'house-model',
  kind: 'chat',
  ownedBy: 'us',
  released: '2026-01-02',
  regions: ['row'],
  deployments: [{ backend: 'openai', model: 'house-1' }],
  prices: { input: '1', output: '2.5' },
}
const file = (...models: object[]): string => JSON.stringify({ currency: 'EUR', models })

test.each([
  ['not YAML', 'models: [', /line 1, column 10/],
  ['an empty file', '', /the file must be object/],
  ['no currency', '{"models":[]}', /the file .*currency/],
  ['a currency that is none', file(good).replace('EUR', 'euro'), /currency/],
  ['no models', file(), /models/],
  ['no name', file({ ...good, name: undefined }), /models\[0\] .*name/],
  ['a name that fits no path', file({ ...good, name: 'a b' }), /models\[0\] \(a b\) name/],
  ['an unknown kind', file(good, { ...good, name: 'x', kind: 'chatt' }), /models\[1\] \(x\) kind/],
  ['no region', file({ ...good, regions: [] }), /models\[0\] \(house-model\) regions/],
  ['an unknown region', file({ ...good, regions: ['moon'] }), /\(house-model\) regions\.0/],
  ['no deployment', file({ ...good, deployments: [] }), /\(house-model\) deployments/],
  [
    'an unknown backend',
    file({ ...good, deployments: [{ backend: 'azure', model: 'x' }] }),
    /\(house-model\) deployments\.0\.backend/,
  ],
  ['a price as a number', file({ ...good, prices: { input: 1, output: '1' } }), /prices\.input/],
  ['a price too fine', file({ ...good, prices: { input: '0.0000001', output: '1' } }), /prices\.input/],
  ['half a price', file({ ...good, prices: { input: '1' } }), /\(house-model\) prices .*output/],
  ['a misspelt field', file({ ...good, price: {} }), /\(house-model\) .*additional/],
  ['a date that is none', file({ ...good, released: 'May 2026' }), /\(house-model\) released/],
  ['a day that no calendar has', file({ ...good, released: '2026-02-30' }), /\(house-model\) released/],
  ['a sunset that no calendar has', file({ ...good, sunset: '2026-13-01' }), /\(house-model\) sunset/],
  ['a negative limit', file({ ...good, contextWindow: -1 }), /\(house-model\) contextWindow/],
  ['a model twice', file(good, good), /models\[1\] \(house-model\) .*twice/],
])('%s is named', (_name, text, message) => {
  const parse = () => parseCatalogue(text, '/etc/models.yaml')
  expect(parse).toThrow(OperatorError)
  expect(parse).toThrow('The model catalogue /etc/models.yaml')
  expect(parse).toThrow(message)
})

test('a file that is not there is named', async () => {
  await expect(loadCatalogue('/nowhere/models.yaml')).rejects.toThrow(
    /\/nowhere\/models\.yaml.*ATRIUM_MODELS/,
  )
})

test('the built-in one is good, and says of old models when they end', async () => {
  const { models } = await loadCatalogue(builtInCatalogue)
  expect(models.get('whisper')?.headers).toEqual({ deprecation: '@1742428800' })
  expect(models.get('titan-image-generator-v2')?.headers).toMatchObject({
    sunset: 'Tue, 30 Jun 2026 00:00:00 GMT',
  })
})
