import { defineAccess } from '@atrium/access'

const keysOnly = {
  user: 'unauthorized',
  client: 'unauthorized',
  key: 'any',
  refusal: 'The gateway accepts API keys only, not tokens: create a key for your space in the portal',
} as const

/** Who may call what: an API key of any space, and nobody else. */
export const gatewayAccess = defineAccess({
  createChatCompletion: keysOnly,
  createEmbedding: keysOnly,
  listModels: keysOnly,
  retrieveModel: keysOnly,
})
