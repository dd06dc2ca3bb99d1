// A bare server beside the platform: reads a request's body and answers `{}`. What it takes for that is what the machine
// leaves, whoever serves.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => response.setHeader('content-type', 'application/json').end('{}'))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.once('SIGTERM', () => process.exit(0))
