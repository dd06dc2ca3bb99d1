export {
  ChatCompletion,
  ChatCompletionAnswer,
  ChatCompletionRequest,
  ChatMessage,
} from './chat-completions.ts'
export { EmbeddingsList, EmbeddingsRequest } from './embeddings.ts'
export { errors, GatewayError } from './errors.ts'
export { Model, ModelKind, ModelList } from './models.ts'
