export { type BodyMemory, readBody, readJsonBodies, readLenientJson, streamJsonBodies } from './bodies.ts'
export { compileValidator, faultsOfValue } from './compilers.ts'
export {
  BLANKS,
  described,
  jsonText,
  named,
  optionalBody,
  requiredText,
  serverSentEvents,
  textLike,
  wholeOrEvents,
  withEtag,
} from './contract.ts'
export { createDrain, type Drain, onCutOff } from './drain.ts'
export { etagOf, ifMatchOfUpsert, ifMatchVersions, isNotModified, setEtag } from './etag.ts'
export {
  type Batches,
  type ServerSentEvent,
  streamArray,
  streamBytes,
  streamEvents,
  streamObject,
  streamPage,
} from './list-streams.ts'
export {
  type PageRequest,
  Pagination,
  PartQuery,
  pageQuery,
  pageRequest,
  paginationOf,
} from './lists.ts'
export { createHttpServer, type HttpServer } from './server.ts'
export { type ErrorView, mountService, type ServiceOptions, type ServiceScope } from './service.ts'
