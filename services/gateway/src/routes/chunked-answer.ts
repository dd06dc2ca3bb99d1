import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const CR = 0x0d
const LF = 0x0a

/**
 * The body of an answer in chunked coding (RFC 9112 §7.1), a buffer a write. `node:http` sends a chunk's length, data
 * and line end as three parts through three queues, which at tens of thousands of chunks a second is what a relay
 * spends its time on. The head must have been flushed; ending is left to `node:http`.
 */
export class ChunkedAnswer {
  readonly #response: ServerResponse
  readonly #onDrain: () => void
  #socket: Socket | null = null

  /** @param onDrain called when the caller takes more, after a write that returned false */
  constructor(response: ServerResponse, onDrain: () => void) {
    this.#response = response
    this.#onDrain = onDrain
    response.on('drain', onDrain)
    response.on('close', () => this.#release())
  }

  /** @returns false when the caller is slower than the data */
  write(data: Buffer): boolean {
    const socket = this.#ownSocket()
    return socket === null ? this.#response.write(data) : socket.write(frame(data))
  }

  /** Ends the answer, after `last` where there is any. */
  end(last: Buffer): void {
    this.#release()
    if (last.length > 0) this.#response.end(last)
    else this.#response.end()
  }

  /** The socket once it is this answer's alone; not yet behind a pipelined one, and never for HTTP/1.0. */
  #ownSocket(): Socket | null {
    if (this.#socket !== null) return this.#socket
    const { socket, chunkedEncoding, writableLength } = this.#response
    if (socket === null || !chunkedEncoding || writableLength > 0) return null
    this.#socket = socket.on('drain', this.#onDrain)
    return socket
  }

  #release(): void {
    this.#socket?.off('drain', this.#onDrain)
    this.#socket = null
  }
}

function frame(data: Buffer): Buffer {
  const size = data.length.toString(16)
  const framed = Buffer.allocUnsafe(size.length + data.length + 4)
  framed.write(size, 0, 'latin1')
  framed[size.length] = CR
  framed[size.length + 1] = LF
  data.copy(framed, size.length + 2)
  framed[framed.length - 2] = CR
  framed[framed.length - 1] = LF
  return framed
}
