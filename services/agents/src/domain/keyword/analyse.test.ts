import { describe, expect, it } from 'vitest'
import { analyse, analyseQuery, isLanguage, LANGUAGES, languageOf, WordList } from './analyse.ts'

describe('analyse', () => {
  it.each([
    [
      'stems and leaves stop words out',
      'The cells were running to proteins',
      'english',
      ['cell', 'run', 'protein'],
    ],
    ['keeps everything for none', 'The cells', 'none', ['the', 'cells']],
    [
      'splits at everything but letters and digits',
      "a_b-c.d x@y.z 3.14 don't",
      'none',
      ['a', 'b', 'c', 'd', 'x', 'y', 'z', '3', '14', 'don', 't'],
    ],
    [
      'folds accents and ligatures',
      'CAFÉ Œuvre groß İstanbul ﬁrst',
      'none',
      ['cafe', 'oeuvre', 'gross', 'istanbul', 'first'],
    ],
    ['stems other languages', 'Häuser und das Haus', 'german', ['haus', 'haus']],
    ['keeps marks that are letters', 'हिन्दी привет й', 'none', ['हिन्दी', 'привет', 'й']],
    ['has nothing for stop words alone', 'to be or not to be', 'english', []],
    ['has nothing for punctuation and emoji', '😀 !!! \0 — …', 'english', []],
    ['survives half a surrogate pair', 'a\ud800b', 'none', ['a', 'b']],
  ])('%s', (_what, text, language, terms) => {
    expect(analyse(text, language)).toEqual(terms)
  })

  it('indexes pairs and single letters of scripts without spaces, and asks for pairs', () => {
    expect(analyse('日本語 ok', 'none')).toEqual(['日', '日本', '本', '本語', '語', 'ok'])
    expect([...analyseQuery('日本語', 'none', 10).keys()]).toEqual(['日本', '本語'])
    expect([...analyseQuery('猫', 'none', 10).keys()]).toEqual(['猫'])
  })

  it('cuts words that are too long, always at the same place', () => {
    expect(analyse('x'.repeat(70), 'none')).toEqual(['x'.repeat(64)])
    expect(analyse(`é${'x'.repeat(70)}`, 'none')).toEqual([`e${'x'.repeat(63)}`])
  })

  it('gives the same words for composed and decomposed text', () => {
    expect(analyse('e\u0301te\u0301 が', 'french')).toEqual(analyse('été が', 'french'))
  })

  it('remembers more words than fit without mixing them up', () => {
    const words = Array.from({ length: 60_000 }, (_, i) => `word${i}s`)
    expect(analyse(words.join(' '), 'english')).toEqual(words.map((word) => word.slice(0, -1)))
    expect(analyse('word1s', 'english')).toEqual(['word1'])
  })

  it('lists each word once with its stem, on every list anew', () => {
    for (const _batch of [1, 2]) {
      const list = new WordList()
      analyse('The cells, the cell: 42 cells', 'english', list)
      analyse('Running cells', 'english', list)
      expect(list.joined()).toEqual({ words: 'cells cell 42 running', stems: 'cell cell 42 run' })
    }
    expect(new WordList().joined()).toEqual({ words: '', stems: '' })
  })

  it('knows every language that it lists', () => {
    for (const language of LANGUAGES) expect(analyse('xyz', language).length).toBe(1)
    expect(isLanguage('klingon')).toBe(false)
    expect(isLanguage('constructor')).toBe(false)
  })
})

describe('analyseQuery', () => {
  it('has distinct words up to the limit', () => {
    expect([...analyseQuery('cells Cell cells the run', 'english', 2)]).toEqual([
      ['cells', 'cell'],
      ['cell', 'cell'],
    ])
  })
})

it.each([
  [undefined, 'english'],
  [{ language: 'German' }, 'german'],
  [{ language: 'none' }, 'none'],
  [{ language: 7 }, 'english'],
  [{ language: 'klingon' }, 'english'],
])('the language of a store with the metadata %j is %s', (metadata, language) => {
  expect(languageOf(metadata)).toBe(language)
})
