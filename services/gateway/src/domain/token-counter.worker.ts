import { parentPort } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** Byte-pair merging takes time quadratic in the length of a word, so text is cut where it has none. */
const SLICE_CHARS = 4096

parentPort?.on('message', ([id, text]: [number, string]) => {
  let tokens = 0
  for (let start = 0; start < text.length; start += SLICE_CHARS) {
    tokens += countTokens(text.slice(start, start + SLICE_CHARS), {
      allowedSpecial: new Set(),
      disallowedSpecial: new Set(),
    })
  }
  parentPort?.postMessage([id, tokens])
})
