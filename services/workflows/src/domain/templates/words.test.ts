import { expect, it } from 'vitest'
import { splitWords } from './words.ts'

it.each([
  ['', []],
  ['  ', []],
  ['a b\tc\n d', ['a', 'b', 'c', 'd']],
  [`--name 'two words' "and three" ''`, ['--name', 'two words', 'and three', '']],
  [`a"b"'c'd`, ['abcd']],
  [`"a \\"b\\" \\n" 'a\\b' c\\ d \\"`, ['a "b" \\n', 'a\\b', 'c d', '"']],
  ['$(id) `id` ${HOME} *;|&', ['$(id)', '`id`', '${HOME}', '*;|&']],
  ['\\', ['\\']],
  ['"open', undefined],
  [`a 'b`, undefined],
])('%j', (line, words) => {
  expect(splitWords(line)).toEqual(words)
})
