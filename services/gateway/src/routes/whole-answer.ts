import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { WholeAnswer } from '../domain/backend.ts'

/** Up to here one write of head and body together is cheaper than two. */
const ONE_WRITE_BYTES = 65_536

/** Sends the bytes as they came. As Latin-1 text they leave in the same system call as the head. */
export function sendWhole(reply: FastifyReply, { status, headers, body }: WholeAnswer): void {
  reply.code(status).headers(headers)
  if (body.length > ONE_WRITE_BYTES) {
    void reply.send(body)
    return
  }
  reply.hijack().header('content-length', body.length)
  reply.raw.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders)
  reply.raw.end(body.toString('latin1'), 'latin1')
}
