import type { Generated, Kysely } from '@atrium/kernel/db'

export type JsonObject = Record<string, unknown>

export interface Author {
  readonly qxId: string
  readonly name: string
}

export type ThreadStatus = 'open' | 'archived' | 'completed'
export type MessageRole = 'user' | 'assistant' | 'system' | 'tool'

export interface AgentsTable {
  space_id: string
  agent_id: string
  name: string
  instructions: string
  description: string
  model: string
  provider: string
  output_format: string
  default_parameters: Generated<JsonObject>
  metadata: Generated<JsonObject>
  created_by: Author
  updated_by: Author | null
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface ThreadsTable {
  space_id: string
  agent_id: string
  thread_id: string
  title: string | null
  status: Generated<ThreadStatus>
  metadata: Generated<JsonObject>
  last_message_at: Date | null
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface MessagesTable {
  space_id: string
  thread_id: string
  message_id: string
  role: MessageRole
  content: JsonObject[]
  metadata: Generated<JsonObject>
  model: string | null
  usage: JsonObject | null
  version: Generated<number>
  created_at: Date
}

export interface VectorStoresTable {
  space_id: string
  vector_store_id: string
  name: string
  description: string | null
  embedding_model: string
  embedding_dimension: number
  /** What the store's texts are analysed in. */
  language: Generated<string>
  chunk_size: number
  chunk_overlap: number
  created_by: Author | null
  updated_by: Author | null
  metadata: Generated<JsonObject>
  status: Generated<'active' | 'deleting'>
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

/** Every table of the schema `agents`. */
export interface AgentsTables {
  'agents.agents': AgentsTable
  'agents.threads': ThreadsTable
  'agents.messages': MessagesTable
  'agents.vector_stores': VectorStoresTable
}

export type AgentsDb = Kysely<AgentsTables>
