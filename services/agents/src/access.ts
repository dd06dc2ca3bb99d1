import { defineAccess } from '@atrium/access'

const members = { user: 'member', client: 'member', key: 'member' } as const

/** Who may call which operation: everybody in the space, whatever their credential; a key is a member of its own. */
export const agentsAccess = defineAccess({
  listModels: { user: 'any', client: 'any', key: 'any' },

  createAgent: members,
  getAgent: members,
  listAgents: members,
  queryAgents: members,
  updateAgent: members,
  deleteAgent: members,

  createThread: members,
  getThread: members,
  listThreads: members,
  queryThreads: members,
  updateThread: members,
  deleteThread: members,

  createMessage: members,
  getMessage: members,
  listMessages: members,
  queryMessages: members,
  updateMessage: members,
  deleteMessage: members,

  createVectorStore: members,
  getVectorStore: members,
  listVectorStores: members,
  updateVectorStore: members,
  deleteVectorStore: members,

  createEmbeddings: members,
  listEmbeddings: members,
  deleteEmbeddings: members,

  vectorSearch: members,
  keywordSearch: members,
  keywordFilterSearch: members,
  hybridSearch: members,
  evaluateSearch: members,
})
