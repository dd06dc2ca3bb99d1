import { Compile } from 'typebox/compile'
import { ChatCompletionRequest } from '../contract/chat-completions.ts'
import { checkRequest } from './request-check.ts'

const validator = Compile(ChatCompletionRequest)

/**
 * The body as a chat completion request.
 * @throws AppError 400 without `model` or `messages`, 422 naming the field that is wrong
 */
export const checkChatRequest = (value: unknown): ChatCompletionRequest =>
  checkRequest(validator, ['model', 'messages'], value)
